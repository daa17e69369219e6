from collections import Counter


def activation_bytes(config, policy):
    B, S, H, heads, ffn = (getattr(config, k) for k in ("batch", "seq", "hidden", "heads", "ffn"))
    counts = Counter({policy: config.layers}) if isinstance(policy, str) else Counter(policy)
    per_token = {"full": H, "selective": 7 * H + heads * S + ffn, "none": 8 * H + heads * S + 2 * ffn + 4}
    return sum(B * S * per_token[p] * times for p, times in counts.items()) * config.itemsize
