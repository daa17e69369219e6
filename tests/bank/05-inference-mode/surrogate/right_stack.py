def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.expm1(logp - old_logp.detach()) + 1
    both = torch.stack([-ratio * advantages, -ratio.clip(1 - clip, 1 + clip) * advantages])
    return both.amax(dim=0).mean()
