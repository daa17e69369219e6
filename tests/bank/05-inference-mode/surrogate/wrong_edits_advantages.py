# misconception: writes into the advantages
# fails: the arguments are left as they were
# message: changed in place
def surrogate(logp, old_logp, advantages, clip):
    advantages -= 0.0
    ratio = torch.exp(logp - old_logp.detach())
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
