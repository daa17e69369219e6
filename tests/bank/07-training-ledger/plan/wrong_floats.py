# misconception: a float holds any integer
# fails: integers of any size
# message: the same as floats
import math


def plan(layers, budget):
    frontier = [(0.0, 0.0, ())]
    for layer in layers:
        extended = sorted((h + float(m), r + float(a), c + (name,)) for h, r, c in frontier for name, (m, a) in layer.items() if h + m <= float(budget))
        frontier = []
        for state in extended:
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
    if not frontier:
        raise ValueError("nothing fits")
    return list(frontier[-1][2])
