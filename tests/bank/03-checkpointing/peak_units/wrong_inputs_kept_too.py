# misconception: a segment's input costs as much as what a layer saves
# fails: 6 layers in 3 segments, a layer keeps four
# message: The input of a segment is one unit
def peak_units(n_layers, segments, kept=1):
    return (segments + -(-n_layers // segments)) * kept
