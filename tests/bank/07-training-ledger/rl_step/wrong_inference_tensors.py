# misconception: inference tensors are used in the training pass
# fails: reward_fn sees prompt and new tokens
# message: Copy tokens and log-probabilities outside
def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    start = prompts.shape[1]
    with torch.inference_mode():
        tokens, old_logp = prompts, []
        for _ in range(new_tokens):
            logits = policy(tokens)[:, -1]
            token = torch.multinomial(logits.softmax(-1), 1, generator=generator)
            old_logp.append(logits.log_softmax(-1).gather(1, token))
            tokens = torch.cat([tokens, token], dim=1)
        rewards = reward_fn(tokens)
        old_logp = torch.cat(old_logp, dim=1)
    advantages = (rewards - rewards.mean()).unsqueeze(1)
    logits = policy(tokens[:, :-1])[:, start - 1 :]
    logp = logits.log_softmax(-1).gather(2, tokens[:, start:].unsqueeze(2)).squeeze(2)
    ratio = (logp - old_logp).exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "reward": rewards.mean().item()}
