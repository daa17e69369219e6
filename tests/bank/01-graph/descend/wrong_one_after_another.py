# misconception: steps one parameter after the other, each from a new loss
# fails: loss_fn is called once per step
# fails: all parameters step from the same loss
# message: gradients of all parameters
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        for i, p in enumerate(params):
            loss = loss_fn()
            if i == 0:
                history.append(loss.item())
            (grad,) = torch.autograd.grad(loss, [p], allow_unused=True)
            if grad is not None:
                with torch.no_grad():
                    p -= lr * grad
    return history
