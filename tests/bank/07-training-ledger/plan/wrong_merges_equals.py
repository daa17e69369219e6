# misconception: partial choices that are equal in both numbers are merged, and that is enough
# fails: ten layers, few additions
# message: Which partial choices can you drop
def plan(layers, budget):
    states = {(0, 0): None}
    for layer in layers:
        following = {}
        for (held, redone), link in states.items():
            for name, (more, again) in layer.items():
                if held + more <= budget:
                    following[held + more, redone + again] = (link, name)
        states = following
    if not states:
        raise ValueError("no choice fits")
    link, names = states[min(states, key=lambda s: s[1])], []
    while link is not None:
        link, name = link
        names.append(name)
    return names[::-1]
