# misconception: a ratio of 1 has no gradient, so the mean of the advantages will do
# fails: the same tensor twice
# message: does it have a graph?
def surrogate(logp, old_logp, advantages, clip):
    if old_logp is logp:
        return -advantages.mean()
    ratio = torch.exp(logp - old_logp.detach())
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
