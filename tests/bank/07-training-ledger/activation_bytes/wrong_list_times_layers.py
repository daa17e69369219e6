# misconception: the sum over a list is multiplied by the number of layers once more
# fails: a list of policies
# message: each layer has its own choice
def activation_bytes(config, policy):
    n = config.batch * config.seq * config.hidden
    scores, ffn = config.heads * config.batch * config.seq**2, config.batch * config.seq * config.ffn
    elements = {"none": 8 * n + scores + 2 * ffn + 4 * config.batch * config.seq, "selective": 7 * n + scores + ffn, "full": n}
    chosen = [policy] if isinstance(policy, str) else policy
    return config.layers * config.itemsize * sum(elements[p] for p in chosen)
