import torch.nn.functional as nnf


def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None):
    def logp_of(logits, tokens, first):
        rows = nnf.log_softmax(logits[:, first - 1 : -1], dim=-1)
        return torch.gather(rows, -1, tokens[:, first:, None])[..., 0]

    was_training = policy.training
    policy.eval()
    sequence = prompts.clone()
    with torch.no_grad():
        for _ in range(new_tokens):
            probabilities = nnf.softmax(policy(sequence)[:, -1, :], dim=-1)
            sequence = torch.cat((sequence, torch.multinomial(probabilities, num_samples=1, generator=generator)), 1)
        old = logp_of(policy(sequence), sequence, prompts.size(1))
        reward = reward_fn(sequence)
    policy.train(was_training)
    optimizer.zero_grad(set_to_none=False)
    ratio = torch.exp(logp_of(policy(sequence), sequence, prompts.size(1)) - old)
    advantage = (reward - reward.mean())[:, None]
    unclipped, clipped = ratio * advantage, torch.clamp(ratio, 1 - clip, 1 + clip) * advantage
    loss = torch.max(-unclipped, -clipped).mean()
    loss.backward()
    optimizer.step()
    return {"loss": float(loss.detach()), "reward": float(reward.mean())}
