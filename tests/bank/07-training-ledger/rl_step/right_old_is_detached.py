def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    """One step follows each rollout, so the old log-probabilities are those of the training pass, as a constant."""
    tokens = prompts
    with torch.inference_mode():
        for _ in range(new_tokens):
            token = torch.multinomial(torch.softmax(policy(tokens)[:, -1], -1), 1, generator=generator)
            tokens = torch.cat([tokens, token], dim=1)
    tokens = tokens.clone()
    rewards = reward_fn(tokens)
    advantages = (rewards - rewards.mean())[:, None]
    rows = policy(tokens[:, :-1])[:, prompts.shape[1] - 1 :].log_softmax(-1)
    logp = rows.gather(-1, tokens[:, prompts.shape[1] :].unsqueeze(-1)).squeeze(-1)
    ratio = torch.exp(logp - logp.detach())
    loss = -torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    loss.backward()
    optimizer.step()
    return {"loss": float(loss), "reward": float(rewards.mean())}
