# misconception: the product is clipped, not the ratio
# fails: value elsewhere
# message: clip(ratio)
def surrogate(logp, old_logp, advantages, clip):
    objective = torch.exp(logp - old_logp.detach()) * advantages
    return -torch.minimum(objective, objective.clamp(1 - clip, 1 + clip)).mean()
