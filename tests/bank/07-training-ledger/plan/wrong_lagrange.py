# misconception: one price per byte for all layers finds the best choice
# fails: random layers against trying everything
# message: another choice fits and redoes less
def plan(layers, budget):
    prices = [0.0] + sorted({
        (layer[b][1] - layer[a][1]) / (layer[a][0] - layer[b][0])
        for layer in layers for a in layer for b in layer if layer[a][0] > layer[b][0]
    })
    best = None
    for price in (p * (1 + sign * 1e-9) for p in prices for sign in (0, 1)):
        chosen = [min(layer, key=lambda name: layer[name][1] + price * layer[name][0]) for layer in layers]
        held = sum(layer[name][0] for layer, name in zip(layers, chosen))
        redone = sum(layer[name][1] for layer, name in zip(layers, chosen))
        if held <= budget and (best is None or redone < best[0]):
            best = (redone, chosen)
    if best is None:
        lowest = [min(layer, key=lambda name: layer[name][0]) for layer in layers]
        if sum(layer[name][0] for layer, name in zip(layers, lowest)) > budget:
            raise ValueError("no choice fits")
        return lowest
    return best[1]
