import math


def peak_units(n_layers, segments, kept=1):
    return segments + math.ceil(n_layers / segments) * kept
