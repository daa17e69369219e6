# misconception: sets aside the .grad of what is no Parameter alone
# fails: parameters of every kind
# message: A Parameter is a parameter like any other
def twice(loss, params):
    found = [p.grad for p in params]
    passes = []
    for keep in (True, False):
        for p in params:
            if keep is False or not isinstance(p, torch.nn.Parameter):
                p.grad = None
        loss.backward(retain_graph=keep)
        passes.append([p.grad for p in params])
    for p, grad in zip(params, found):
        p.grad = grad
    return passes[0], passes[1]
