# misconception: the ratio is a weight, so it is a constant
# fails: gradient at ratio 1
# message: does it have a graph?
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp - old_logp).detach()
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
