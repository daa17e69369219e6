# misconception: a ratio of probabilities is computed as one
# fails: log-probabilities of -120
# message: Subtract first
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp) / torch.exp(old_logp.detach())
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
