# misconception: when no two changes help, nothing does
# fails: 24 layers, all different
# message: a change of one or two layers at a time
def plan(layers, budget):
    chosen = [min(layer, key=lambda k: layer[k]) for layer in layers]
    held = lambda c: sum(l[k][0] for l, k in zip(layers, c))
    redone = lambda c: sum(l[k][1] for l, k in zip(layers, c))
    if held(chosen) > budget:
        raise ValueError("nothing fits")
    better = True
    while better:
        better, best = False, redone(chosen)
        n = len(layers)
        for i in range(n):
            for j in range(i, n):
                for a in layers[i]:
                    for b in layers[j]:
                        other = list(chosen)
                        other[i], other[j] = a, b if j != i else a
                        if held(other) <= budget and redone(other) < best:
                            chosen, best, better = other, redone(other), True
    return chosen
