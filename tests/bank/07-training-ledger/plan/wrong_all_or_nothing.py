# misconception: one choice for all layers
# fails: most bytes first is not best
# message: All or nothing
def plan(layers, budget):
    fits = []
    for name in ("keep", "selective", "full"):
        if sum(layer[name][0] for layer in layers) <= budget:
            fits.append((sum(layer[name][1] for layer in layers), name))
    if not fits:
        raise ValueError("nothing fits")
    return [min(fits)[1]] * len(layers)
