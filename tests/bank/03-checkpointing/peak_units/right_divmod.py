def peak_units(n_layers: int, segments: int) -> int:
    quotient, rest = divmod(n_layers, segments)
    return segments + quotient + bool(rest)
