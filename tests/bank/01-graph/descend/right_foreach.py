@torch.no_grad()
def descend(params, loss_fn, lr, steps):
    history = []
    for number in range(steps):
        with torch.enable_grad():
            loss = loss_fn()
            grads = torch.autograd.grad(loss, params, materialize_grads=True)
        history.append(float(loss))
        torch._foreach_add_(params, grads, alpha=-lr)
    for param in params:
        param.grad = None
    return history
