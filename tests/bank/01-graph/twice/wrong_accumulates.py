# misconception: forgets that backward adds to .grad
# fails: the second pass
# message: That is the sum of two passes
def twice(loss, params):
    found = [p.grad for p in params]
    for p in params:
        p.grad = None
    loss.backward(retain_graph=True)
    first = [p.grad.clone() for p in params]
    loss.backward()
    second = [p.grad.clone() for p in params]
    for p, grad in zip(params, found):
        p.grad = grad
    return first, second
