# misconception: returns tuples for lists
# fails: the first pass
# message: list(...) makes one of a tuple
def twice(loss, params):
    return torch.autograd.grad(loss, params, retain_graph=True), torch.autograd.grad(loss, params)
