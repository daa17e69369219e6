def best_segments(n_layers: int, kept: float = 1) -> int:
    import math

    return min((s + math.ceil(n_layers / s) * kept, s) for s in range(1, n_layers + 1))[1]
