# misconception: a list will do for a tuple
# fails: the graph is run through twice
# message: belong in a tuple
def twice(loss, params):
    return [list(torch.autograd.grad(loss, params, retain_graph=keep)) for keep in (True, False)]
