def plan(layers, budget):
    """Combine frontiers of halves: what neither beats stays."""

    def thin(states):
        kept = []
        for state in sorted(states, key=lambda s: (s[0], s[1])):
            if state[0] <= budget and (not kept or state[1] < kept[-1][1]):
                kept.append(state)
        return kept

    def frontier(part):
        if len(part) == 1:
            return thin([(held, redone, [name]) for name, (held, redone) in part[0].items()])
        middle = len(part) // 2
        left, right = frontier(part[:middle]), frontier(part[middle:])
        return thin([(a + c, b + d, x + y) for a, b, x in left for c, d, y in right])

    states = frontier(layers)
    if not states:
        raise ValueError(f"nothing fits into {budget}")
    return min(states, key=lambda s: s[1])[2]
