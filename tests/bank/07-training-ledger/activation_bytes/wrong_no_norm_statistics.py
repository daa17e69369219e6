# misconception: forgets the LayerNorm statistics
# fails: one layer, nothing recomputed
# message: The LayerNorm statistics are missing
def activation_bytes(config, policy):
    tokens = config.batch * config.seq
    n = tokens * config.hidden
    scores = config.heads * config.batch * config.seq**2
    elements = {
        "none": 8 * n + scores + 2 * tokens * config.ffn,
        "selective": 7 * n + scores + tokens * config.ffn,
        "full": n,
    }
    per_layer = [policy] * config.layers if isinstance(policy, str) else policy
    return config.itemsize * sum(elements[choice] for choice in per_layer)
