def surrogate(logp, old_logp, advantages, clip):
    """The clip by cases: an upper bound where the advantage is positive, a lower one where it is negative."""
    with torch.no_grad():
        constant = old_logp.clone()
    ratio = torch.exp(logp - constant)
    bounded = torch.where(advantages >= 0, ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip))
    return (-bounded * advantages).sum() / advantages.numel()
