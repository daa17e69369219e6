# misconception: the minimum is next to the root
# fails: hundreds of layers
# message: not for those next to the root
def best_segments(n_layers):
    import math
    root = math.isqrt(n_layers)
    return min((s for s in range(max(1, root - 3), min(n_layers, root + 1) + 1)), key=lambda s: s + math.ceil(n_layers / s))
