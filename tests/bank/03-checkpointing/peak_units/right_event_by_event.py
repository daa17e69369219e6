def peak_units(n_layers, segments, kept=1):
    """Play the timeline."""
    lengths = [n_layers * (i + 1) // segments - n_layers * i // segments for i in range(segments)]
    alive = peak = 0
    for _ in lengths:
        alive += 1
        peak = max(peak, alive)
    for length in reversed(lengths):
        for _ in range(length):
            alive += kept
            peak = max(peak, alive)
        alive -= length * kept + 1
    return peak
