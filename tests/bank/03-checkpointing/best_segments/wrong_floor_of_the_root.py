# misconception: the minimum lies at the root, rounded down
# fails: small chains
# message: The ceiling makes steps
def best_segments(n_layers, kept=1):
    import math

    return min(n_layers, math.isqrt(n_layers * kept))
