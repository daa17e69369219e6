# misconception: the entries come as keep, selective, full
# fails: the order in a layer promises nothing
# message: Go by the names
def plan(layers, budget):
    names = ("keep", "selective", "full")
    frontier = [(0, 0, ())]
    for layer in layers:
        extended = sorted((h + m, r + a, c + (name,)) for h, r, c in frontier for name, (m, a) in zip(names, layer.values()) if h + m <= budget)
        frontier = []
        for state in extended:
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
    if not frontier:
        raise ValueError("nothing fits")
    return list(frontier[-1][2])
