# misconception: an advantage is always divided by its standard deviation
# fails: the update
# message: at the advantage
def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    tokens = prompts
    with torch.inference_mode():
        old = []
        for _ in range(new_tokens):
            logits = policy(tokens)[:, -1]
            token = torch.multinomial(logits.softmax(-1), 1, generator=generator)
            old.append(logits.log_softmax(-1).gather(1, token))
            tokens = torch.cat([tokens, token], dim=1)
        old = torch.cat(old, 1)
    tokens, old = tokens.clone(), old.clone()
    rewards = reward_fn(tokens)
    advantages = ((rewards - rewards.mean()) / (rewards.std() + 1e-8))[:, None]
    rows = policy(tokens[:, :-1])[:, prompts.shape[1] - 1 :].log_softmax(-1)
    logp = rows.gather(-1, tokens[:, prompts.shape[1] :].unsqueeze(-1)).squeeze(-1)
    ratio = torch.exp(logp - old)
    loss = -torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": float(loss), "reward": float(rewards.mean())}
