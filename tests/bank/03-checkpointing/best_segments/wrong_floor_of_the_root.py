# misconception: the minimum lies at the root, rounded down
# fails: small chains
# message: The ceiling makes steps
def best_segments(n_layers):
    import math

    return math.isqrt(n_layers)
