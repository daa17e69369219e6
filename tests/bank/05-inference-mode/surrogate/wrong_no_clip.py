# misconception: the ratio corrects by itself
# fails: beyond the clip
# message: Nothing is clipped.
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp - old_logp.detach())
    return -(ratio * advantages).mean()
