def surrogate(logp, old_logp, advantages, clip):
    with torch.no_grad():
        fixed = old_logp.clone()
    ratio = (logp - fixed).exp()
    high = torch.clamp(ratio, max=1 + clip)
    low = torch.clamp(ratio, min=1 - clip)
    per_element = torch.where(advantages >= 0, high * advantages, low * advantages)
    return per_element.sum().neg() / per_element.numel()
