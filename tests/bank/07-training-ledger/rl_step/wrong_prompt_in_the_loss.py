# misconception: prompt tokens are in the loss
# fails: the update
# message: mean over new tokens only
def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    with torch.no_grad():
        tokens = prompts
        for _ in range(new_tokens):
            token = torch.multinomial(policy(tokens)[:, -1].softmax(-1), 1, generator=generator)
            tokens = torch.cat([tokens, token], dim=1)
        rewards = reward_fn(tokens)
        old = policy(tokens[:, :-1]).log_softmax(-1).gather(2, tokens[:, 1:, None])[..., 0]
    advantages = (rewards - rewards.mean())[:, None]
    logp = policy(tokens[:, :-1]).log_softmax(-1).gather(2, tokens[:, 1:, None])[..., 0]
    ratio = (logp - old).exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "reward": rewards.mean().item()}
