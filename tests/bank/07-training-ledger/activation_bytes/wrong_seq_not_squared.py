# misconception: scores grow with hidden
# fails: nothing recomputed, sizes drawn
# message: Only the scores grow with seq
def activation_bytes(config, policy):
    tokens = config.batch * config.seq
    n = tokens * config.hidden
    scores = config.heads * config.batch * config.seq * config.hidden
    elements = {
        "none": 8 * n + scores + 2 * tokens * config.ffn + 4 * tokens,
        "selective": 7 * n + scores + tokens * config.ffn,
        "full": n,
    }
    per_layer = [policy] * config.layers if isinstance(policy, str) else policy
    return config.itemsize * sum(elements[choice] for choice in per_layer)
