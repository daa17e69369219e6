# misconception: the loss takes the larger of the two objectives
# fails: far in the direction that pays
# message: There the clip holds
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp - old_logp.detach())
    return -torch.maximum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
