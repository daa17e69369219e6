# misconception: takes it that full always holds least
# fails: names promise nothing
# message: go by the numbers
def plan(layers, budget):
    frontier = [(0, 0, [])]
    for i, layer in enumerate(layers):
        rest = sum(other["full"][0] for other in layers[i + 1 :])
        extended = [
            (held + more, redone + again, names + [name])
            for held, redone, names in frontier
            for name, (more, again) in layer.items()
            if held + more + rest <= budget
        ]
        frontier = []
        for state in sorted(extended):
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
    if not frontier:
        raise ValueError("nothing fits")
    return frontier[-1][2]
