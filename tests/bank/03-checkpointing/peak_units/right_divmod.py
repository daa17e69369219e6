def peak_units(n_layers: int, segments: int, kept: int = 1) -> int:
    quotient, rest = divmod(n_layers, segments)
    return segments + kept * (quotient + bool(rest))
