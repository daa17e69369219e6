def surrogate(logp, old_logp, advantages, clip):
    ratio = (logp - old_logp.detach()).exp()
    clipped = torch.clamp(ratio, 1.0 - clip, 1.0 + clip)
    return -torch.min(ratio * advantages, clipped * advantages).mean()
