# misconception: only plans that hold the same bytes can be told apart, so no other is dropped
# fails: ten layers, few additions
# fails: fourteen layers, few additions
# message: the work multiplies with every layer
def plan(layers, budget):
    """Least FLOPs for every sum of bytes that can occur; no sum is dropped but those over the budget."""
    best = {0: (0, ())}
    for layer in layers:
        following = {}
        for held, (redone, chosen) in best.items():
            for name, (more, again) in layer.items():
                total = held + more
                if total <= budget and (total not in following or redone + again < following[total][0]):
                    following[total] = (redone + again, (chosen, name))
        best = following
    if not best:
        raise ValueError("no choice fits")
    _, link = min(best.values(), key=lambda entry: entry[0])
    names = []
    while link:
        link, name = link
        names.append(name)
    return names[::-1]
