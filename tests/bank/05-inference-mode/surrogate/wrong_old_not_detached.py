# misconception: the ratio of a tensor to itself is a constant
# fails: gradient at ratio 1
# message: The ratio is 1, but its gradient is not 0.
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp - old_logp)
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
