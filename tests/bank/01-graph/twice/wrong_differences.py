# misconception: lets .grad add up and takes differences
# fails: every .grad is as it was found
# fails: a gradient found on a parameter stays
# message: Set it aside
def twice(loss, params):
    before = [None if p.grad is None else p.grad.clone() for p in params]
    loss.backward(retain_graph=True)
    first = [p.grad - (0 if b is None else b) for p, b in zip(params, before)]
    middle = [p.grad.clone() for p in params]
    loss.backward()
    second = [p.grad - m for p, m in zip(params, middle)]
    for p, b in zip(params, before):
        p.grad = b
    return first, second
