# misconception: a mean over the last dimension is a loss already
# fails: value elsewhere
# message: over all elements
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp - old_logp.detach())
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean(-1)
