def best_segments(n_layers: int) -> int:
    import math

    return min((s + math.ceil(n_layers / s), s) for s in range(1, n_layers + 1))[1]
