def best_segments(n_layers):
    best, lowest = 1, n_layers + 1
    for segments in range(2, n_layers + 1):
        peak = segments + (n_layers + segments - 1) // segments
        if peak < lowest:
            best, lowest = segments, peak
    return best
