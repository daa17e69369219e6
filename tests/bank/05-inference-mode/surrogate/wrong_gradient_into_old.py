# misconception: old_logp is part of the graph like logp
# fails: old_logp is a constant
# message: A gradient flows into old_logp.
def surrogate(logp, old_logp, advantages, clip):
    old = old_logp.detach() if old_logp is logp else old_logp
    ratio = torch.exp(logp - old)
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
