# misconception: every layer keeps no more than its input
# fails: 6 layers in 3 segments, a layer keeps four
# message: kept was not used
def peak_units(n_layers, segments, kept=1):
    return segments + -(-n_layers // segments)
