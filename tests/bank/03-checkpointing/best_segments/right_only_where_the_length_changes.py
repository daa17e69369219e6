def best_segments(n_layers, kept=1):
    """For every length of the longest segment the fewest segments that give it."""
    candidates = {-(-n_layers // length) for length in range(1, n_layers + 1)}
    return min(sorted(candidates), key=lambda s: s + -(-n_layers // s) * kept)
