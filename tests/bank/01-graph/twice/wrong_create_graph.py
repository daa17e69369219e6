# misconception: uses create_graph for retain_graph
# fails: no gradient has a grad_fn
# fails: plain tensors without grad_fn
# message: create_graph=True records the backward pass as well
def twice(loss, params):
    first = torch.autograd.grad(loss, params, create_graph=True)
    second = torch.autograd.grad(loss, params)
    return list(first), list(second)
