# misconception: the logits at a position are for the token at that position
# fails: positions that learn
# message: Off by one: the logits at position 3 predict the token at position 4
def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    start = prompts.shape[1]
    optimizer.zero_grad()
    with torch.no_grad():
        tokens = prompts
        for _ in range(new_tokens):
            token = torch.multinomial(policy(tokens)[:, -1].softmax(-1), 1, generator=generator)
            tokens = torch.cat([tokens, token], 1)
    rewards = reward_fn(tokens)
    advantages = (rewards - rewards.mean())[:, None]
    logp = policy(tokens)[:, start:].log_softmax(-1).gather(2, tokens[:, start:, None])[..., 0]
    ratio = (logp - logp.detach()).exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "reward": rewards.mean().item()}
