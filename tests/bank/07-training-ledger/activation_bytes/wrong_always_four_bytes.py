# misconception: takes every element for float32
# fails: two bytes per element
# message: Bytes per element come from config.itemsize
def activation_bytes(config, policy):
    tokens = config.batch * config.seq
    n = tokens * config.hidden
    scores = config.heads * config.batch * config.seq**2
    elements = {
        "none": 8 * n + scores + 2 * tokens * config.ffn + 4 * tokens,
        "selective": 7 * n + scores + tokens * config.ffn,
        "full": n,
    }
    per_layer = [policy] * config.layers if isinstance(policy, str) else policy
    return 4 * sum(elements[choice] for choice in per_layer)
