# misconception: the minimum is next to the root
# fails: hundreds of layers
# message: not for those next to the root
def best_segments(n_layers, kept=1):
    import math

    root = math.isqrt(n_layers * kept)
    near = range(max(1, root - 3), root + 2)
    return min((min(s, n_layers) for s in near), key=lambda s: s + math.ceil(n_layers / s) * kept)
