from bisect import bisect_right
from functools import reduce


def plan(layers, budget):
    """Insert every extended choice where it belongs, unless an earlier one beats it; drop the later ones that it beats."""

    def extend(kept, layer):
        held, states = [], []
        for name, (more, again) in layer.items():
            for before in kept:
                size, work = before[0] + more, before[1] + again
                at = bisect_right(held, size)
                if size > budget or (at and states[at - 1][1] <= work):
                    continue
                start = at - 1 if at and held[at - 1] == size else at
                stop = at
                while stop < len(states) and states[stop][1] >= work:
                    stop += 1
                held[start:stop] = [size]
                states[start:stop] = [(size, work, before, name)]
        return states

    states = reduce(extend, layers, [(0, 0, None, None)])
    if not states:
        raise ValueError("no choice fits")
    names, state = [], states[-1]
    while state[2] is not None:
        names.append(state[3])
        state = state[2]
    return names[::-1]
