# misconception: only a ratio that is too large has to be clipped
# fails: clipping
# message: the loss takes the smaller of both products
def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    start = prompts.shape[1]
    tokens, old = prompts, []
    with torch.no_grad():
        for _ in range(new_tokens):
            logits = policy(tokens)[:, -1]
            token = torch.multinomial(logits.softmax(-1), 1, generator=generator)
            old.append(logits.log_softmax(-1).gather(1, token))
            tokens = torch.cat([tokens, token], dim=1)
        rewards = reward_fn(tokens)
    advantages = (rewards - rewards.mean()).unsqueeze(1)
    logits = policy(tokens[:, :-1])[:, start - 1 :]
    logp = logits.log_softmax(-1).gather(2, tokens[:, start:].unsqueeze(2)).squeeze(2)
    ratio = (logp - torch.cat(old, dim=1)).exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(max=1 + clip) * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "reward": rewards.mean().item()}
