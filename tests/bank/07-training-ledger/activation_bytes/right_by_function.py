def activation_bytes(config, policy):
    b, s, h, heads, f = config.batch, config.seq, config.hidden, config.heads, config.ffn

    def layer(choice):
        if choice == "full":
            return b * s * h
        if choice == "selective":
            return b * s * (7 * h + heads * s + f)
        return b * s * (8 * h + heads * s + 2 * f + 4)

    if isinstance(policy, str):
        return config.itemsize * config.layers * layer(policy)
    return config.itemsize * sum(map(layer, policy))
