# misconception: backward rebuilds every segment before it starts
# fails: 64 layers in 8 segments
# message: Only one segment is redone at a time
def peak_units(n_layers, segments, kept=1):
    return segments + n_layers * kept
