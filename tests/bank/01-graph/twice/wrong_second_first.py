# misconception: two passes give the same, so their order does not matter
# fails: the graph is run through twice
# message: The gradients of the first pass come first
def twice(loss, params):
    first = torch.autograd.grad(loss, params, retain_graph=True)
    second = torch.autograd.grad(loss, params)
    return list(second), list(first)
