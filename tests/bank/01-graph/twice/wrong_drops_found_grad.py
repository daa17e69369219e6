# misconception: clears .grad instead of putting back what was there
# fails: a gradient found on a parameter stays
# message: Whatever was in .grad before is there afterwards
def twice(loss, params):
    passes = []
    for retain in (True, False):
        for p in params:
            p.grad = None
        loss.backward(retain_graph=retain)
        passes.append([p.grad.clone() for p in params])
    for p in params:
        p.grad = None
    return passes[0], passes[1]
