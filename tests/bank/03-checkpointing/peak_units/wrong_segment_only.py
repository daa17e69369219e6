# misconception: the inputs of the segments cost nothing
# fails: 64 layers in 8 segments
# message: You counted one of the two parts.
def peak_units(n_layers, segments, kept=1):
    return -(-n_layers // segments) * kept
