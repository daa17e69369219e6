# misconception: the budget itself is too much
# fails: room for everything
# message: The budget itself still fits
def plan(layers, budget):
    frontier = [(0, 0, [])]
    for layer in layers:
        extended = [
            (held + more, redone + again, names + [name])
            for held, redone, names in frontier
            for name, (more, again) in layer.items()
            if held + more < budget
        ]
        frontier = []
        for state in sorted(extended):
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
    if not frontier:
        raise ValueError("nothing fits")
    return frontier[-1][2]
