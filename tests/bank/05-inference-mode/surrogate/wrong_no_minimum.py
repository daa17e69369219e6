# misconception: the clipped ratio is enough
# fails: far in the wrong direction
# message: Without the minimum
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp - old_logp.detach())
    return -(ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
