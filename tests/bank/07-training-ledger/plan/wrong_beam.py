# misconception: five hundred partial choices are enough
# fails: no choice beats another in both
# message: Is a number of them kept
def plan(layers, budget):
    frontier = [(0, 0, ())]
    for layer in layers:
        extended = sorted((h + m, r + a, c + (name,)) for h, r, c in frontier for name, (m, a) in layer.items() if h + m <= budget)
        frontier = []
        for state in extended:
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
        step = max(1, len(frontier) // 500)
        frontier = frontier[::step] + frontier[-1:]
    if not frontier:
        raise ValueError("nothing fits")
    return list(frontier[-1][2])
