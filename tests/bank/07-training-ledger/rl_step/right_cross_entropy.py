def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    length = prompts.size(1)
    seq = prompts
    with torch.no_grad():
        for _ in range(new_tokens):
            weights = torch.softmax(policy(seq)[:, -1], dim=-1)
            seq = torch.cat((seq, torch.multinomial(weights, 1, generator=generator)), dim=1)

    def log_probs():
        logits = policy(seq)[:, length - 1 : -1]
        return -F.cross_entropy(logits.transpose(1, 2), seq[:, length:], reduction="none")

    with torch.no_grad():
        reference = log_probs()
        reward = reward_fn(seq)
        gain = (reward - reward.mean())[:, None]
    r = torch.exp(log_probs() - reference)
    low, high = 1 - clip, 1 + clip
    bounded = torch.where(gain > 0, r.clamp(max=high), r.clamp(min=low))
    loss = (-bounded * gain).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": float(loss), "reward": float(reward.mean())}
