def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    """The training pass as a closure, which the optimizer calls."""

    @torch.inference_mode()
    def roll_out():
        tokens, logps = prompts, []
        for _ in range(new_tokens):
            probabilities = policy(tokens)[:, -1].softmax(dim=-1)
            token = torch.multinomial(probabilities, 1, generator=generator)
            logps.append(probabilities.gather(1, token).log())
            tokens = torch.hstack([tokens, token])
        return tokens, torch.hstack(logps)

    tokens, old = (t.clone() for t in roll_out())
    with torch.no_grad():
        reward = reward_fn(tokens)
    gain = reward.sub(reward.mean()).view(-1, 1)

    def closure():
        optimizer.zero_grad()
        rows = policy(tokens)[:, prompts.shape[1] - 1 : -1].log_softmax(-1)
        ratio = (rows.gather(-1, tokens[:, prompts.shape[1] :, None]).squeeze(-1) - old).exp()
        loss = -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain).mean()
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    return {"loss": loss.item(), "reward": reward.mean().item()}
