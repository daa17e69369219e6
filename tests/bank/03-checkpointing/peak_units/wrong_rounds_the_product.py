# misconception: the units of a segment are rounded up, not its layers
# fails: 7 layers in 3 segments, a layer keeps two
# message: Round the layers up, then multiply
import math


def peak_units(n_layers, segments, kept=1):
    return segments + math.ceil(n_layers * kept / segments)
