# misconception: the first choice of a list stands for all
# fails: a list of policies
# message: each layer has its own choice
def activation_bytes(config, policy):
    tokens = config.batch * config.seq
    n = tokens * config.hidden
    scores = config.heads * config.batch * config.seq**2
    elements = {
        "none": 8 * n + scores + 2 * tokens * config.ffn + 4 * tokens,
        "selective": 7 * n + scores + tokens * config.ffn,
        "full": n,
    }
    per_layer = [policy] * config.layers if isinstance(policy, str) else [policy[0]] * config.layers
    return config.itemsize * sum(elements[choice] for choice in per_layer)
