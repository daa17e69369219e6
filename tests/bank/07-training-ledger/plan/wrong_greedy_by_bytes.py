# misconception: greedy by bytes: the move that frees most
# fails: most bytes first is not best
# message: Two small ones are cheaper here
def plan(layers, budget):
    chosen = [min(layer, key=lambda name: (layer[name][1], layer[name][0])) for layer in layers]

    def held():
        return sum(layer[name][0] for layer, name in zip(layers, chosen))

    while held() > budget:
        moves = [
            (layer[chosen[i]][0] - layer[name][0], layer[name][1] - layer[chosen[i]][1], i, name)
            for i, layer in enumerate(layers)
            for name in layer
            if layer[name][0] < layer[chosen[i]][0]
        ]
        if not moves:
            raise ValueError("nothing fits")
        _, _, i, name = max(moves, key=lambda move: move[0])
        chosen[i] = name
    return chosen
