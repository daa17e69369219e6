# misconception: a table of 1,000 rows over the budget is exact enough
# fails: 64 layers and real sizes
# message: a coarser table
def plan(layers, budget):
    step = max(1, -(-budget // 1000))
    best = {0: (0, 0, ())}
    for layer in layers:
        following = {}
        for rows, (redone, held, names) in best.items():
            for name, (more, again) in layer.items():
                row = rows + -(-more // step)
                if row <= budget // step and held + more <= budget and (row not in following or redone + again < following[row][0]):
                    following[row] = (redone + again, held + more, (*names, name))
        best = following
    if not best:
        raise ValueError("no choice fits")
    return list(min(best.values())[2])
