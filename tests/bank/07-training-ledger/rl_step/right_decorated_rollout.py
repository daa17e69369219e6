@torch.inference_mode()
def _rollout(policy, tokens, new_tokens, generator):
    logps = []
    for _ in range(new_tokens):
        row = policy(tokens)[:, -1].log_softmax(dim=-1)
        new = torch.multinomial(torch.softmax(row, -1), 1, generator=generator)
        logps.append(row.gather(-1, new))
        tokens = torch.cat([tokens, new], dim=-1)
    return tokens, torch.cat(logps, dim=-1)


def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    tokens, old = (t.clone() for t in _rollout(policy, prompts, new_tokens, generator))
    rewards = reward_fn(tokens)
    advantages = rewards - rewards.mean()
    width = prompts.shape[-1]
    logp = policy(tokens).log_softmax(-1)[:, :-1].gather(-1, tokens[:, 1:, None]).squeeze(-1)[:, width - 1 :]
    ratio = torch.exp(logp - old)
    gains = torch.stack([ratio, ratio.clamp(1 - clip, 1 + clip)]) * advantages[None, :, None]
    loss = -gains.min(dim=0).values.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "reward": rewards.mean().item()}
