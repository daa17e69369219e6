# misconception: retains the graph in both passes
# fails: afterwards the graph is released
# fails: a third pass raises
# message: The graph is still there.
def twice(loss, params):
    first = torch.autograd.grad(loss, params, retain_graph=True)
    second = torch.autograd.grad(loss, params, retain_graph=True)
    return list(first), list(second)
