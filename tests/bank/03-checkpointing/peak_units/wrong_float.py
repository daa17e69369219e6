# misconception: a fraction of a layer can be kept
# fails: 10 layers in 4 segments
# message: round up, to an int
def peak_units(n_layers, segments, kept=1):
    return segments + n_layers / segments * kept
