# misconception: the average segment decides
# fails: 10 layers in 4 segments
# message: The longest segment decides: round up.
def peak_units(n_layers, segments, kept=1):
    return segments + n_layers // segments * kept
