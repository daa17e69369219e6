# misconception: the logits from position T on predict the new tokens
# fails: reward_fn sees prompt and new tokens
# fails: positions that learn
# message: is a slice off by one
def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    start = prompts.shape[1]
    optimizer.zero_grad()
    with torch.no_grad():
        tokens, old = prompts, []
        for _ in range(new_tokens):
            logp = policy(tokens)[:, -1].log_softmax(-1)
            token = torch.multinomial(logp.exp(), 1, generator=generator)
            old.append(logp.gather(1, token))
            tokens = torch.cat([tokens, token], 1)
    rewards = reward_fn(tokens)
    advantages = (rewards - rewards.mean())[:, None]
    logp = policy(tokens[:, :-1])[:, start:].log_softmax(-1).gather(2, tokens[:, start:, None])[..., 0]
    ratio = (logp - torch.cat(old, 1)).exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "reward": rewards.mean().item()}
