def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    """Old log-probabilities by one more pass without a graph, over the whole sequence; rollout in eval mode."""
    training, first = policy.training, prompts.size(1) - 1
    sequence = prompts.clone()
    pick = lambda logits: torch.take_along_dim(logits.log_softmax(-1)[:, first:-1], sequence[:, first + 1 :, None], -1)[..., 0]
    try:
        policy.eval()
        with torch.no_grad():
            for _ in range(new_tokens):
                draw = torch.multinomial(policy(sequence)[:, -1].softmax(-1), 1, generator=generator)
                sequence = torch.cat([sequence, draw], 1)
            old, reward = pick(policy(sequence)), reward_fn(sequence)
    finally:
        policy.train(training)
    policy.zero_grad()
    optimizer.zero_grad()
    ratio = (pick(policy(sequence)) - old).exp()
    gain = (reward - reward.mean()).unsqueeze(-1).expand_as(ratio)
    held = torch.where(gain > 0, ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip))
    loss = -(held * gain).mean()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "reward": reward.mean().item()}
