from collections import Counter


def activation_bytes(config, policy):
    tokens = config.batch * config.seq
    counts = Counter({policy: config.layers} if isinstance(policy, str) else policy)
    scores = config.heads * config.batch * config.seq * config.seq
    total = counts["full"] * tokens * config.hidden
    total += counts["selective"] * (7 * tokens * config.hidden + scores + tokens * config.ffn)
    total += counts["none"] * (8 * tokens * config.hidden + scores + 2 * tokens * config.ffn + 4 * tokens)
    return total * config.itemsize
