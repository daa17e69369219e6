# autograd.grad; .grad is never used
def descend(params, loss_fn, lr, steps) -> list[float]:
    losses = []
    for param in params:
        param.grad = None
    for _ in range(steps):
        loss = loss_fn()
        losses.append(float(loss))
        grads = torch.autograd.grad(loss, params, allow_unused=True)
        with torch.no_grad():
            for param, grad in zip(params, grads):
                if grad is not None:
                    param.sub_(grad, alpha=lr)
    return losses
