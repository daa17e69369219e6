# misconception: negates the advantages in place
# fails: the arguments are left as they were
# message: changed in place
def surrogate(logp, old_logp, advantages, clip):
    ratio = torch.exp(logp - old_logp.detach())
    advantages = advantages.mul_(-1)
    loss = torch.maximum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    return loss
