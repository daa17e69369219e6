# misconception: when both are one tensor, that tensor is the constant
# fails: gradient at ratio 1
# message: must keep its gradient
def surrogate(logp, old_logp, advantages, clip):
    if logp is old_logp:
        logp = old_logp = logp.detach()
    ratio = torch.exp(logp - old_logp.detach())
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
