# misconception: the caller's list may be used up
# fails: the same list twice
# message: change nothing in it
def activation_bytes(config, policy):
    tokens = config.batch * config.seq
    n, scores = tokens * config.hidden, config.heads * config.batch * config.seq**2
    if isinstance(policy, str):
        policy = [policy] * config.layers
    elements = 0
    while policy:
        choice = policy.pop()
        if choice == "full":
            elements += n
        elif choice == "selective":
            elements += 7 * n + scores + tokens * config.ffn
        else:
            elements += 8 * n + scores + 2 * tokens * config.ffn + 4 * tokens
    return elements * config.itemsize
