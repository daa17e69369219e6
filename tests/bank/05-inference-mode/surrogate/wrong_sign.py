# misconception: the objective is the loss
# fails: value at ratio 1
# message: The sign
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp - old_logp.detach())
    return torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
