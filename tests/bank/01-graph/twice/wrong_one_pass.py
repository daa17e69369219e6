# misconception: runs one pass and copies its result
# fails: the graph is run through twice
# fails: two real passes
# message: The graph was run through once
def twice(loss, params):
    grads = torch.autograd.grad(loss, params)
    return list(grads), [g.clone() for g in grads]
