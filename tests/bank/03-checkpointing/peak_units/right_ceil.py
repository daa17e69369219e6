import math


def peak_units(n_layers, segments):
    return segments + math.ceil(n_layers / segments)
