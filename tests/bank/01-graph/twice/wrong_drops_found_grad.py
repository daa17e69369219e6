# misconception: clears .grad instead of putting back what was there
# fails: every .grad is as it was found
# fails: a gradient found on a parameter stays
# message: Set it aside, with .grad = None, before the first pass
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
