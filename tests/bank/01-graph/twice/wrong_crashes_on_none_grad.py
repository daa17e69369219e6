# misconception: expects a tensor in every .grad
# fails: the first pass
# fails: every .grad is as it was found
# message: A parameter's .grad may be None.
def twice(loss, params):
    found = [p.grad.clone() for p in params]
    passes = []
    for keep in (True, False):
        for p in params:
            p.grad = None
        loss.backward(retain_graph=keep)
        passes.append([p.grad for p in params])
    for p, grad in zip(params, found):
        p.grad = grad
    return tuple(passes)
