def best_segments(n_layers, kept=1):
    best, lowest = 1, 1 + n_layers * kept
    for segments in range(2, n_layers + 1):
        peak = segments + (n_layers + segments - 1) // segments * kept
        if peak < lowest:
            best, lowest = segments, peak
    return best
