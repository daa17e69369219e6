# misconception: expects a graph to survive backward
# fails: the first pass
# message: retain_graph=True.
def twice(loss, params):
    first = torch.autograd.grad(loss, params)
    second = torch.autograd.grad(loss, params)
    return list(first), list(second)
