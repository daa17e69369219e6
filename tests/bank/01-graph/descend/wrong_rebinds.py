# misconception: p = p - lr * grad makes a new tensor and leaves the parameter
# fails: the loss before each step
# message: The parameter never changed.
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        loss = loss_fn()
        history.append(loss.item())
        loss.backward()
        for p in params:
            grad, p.grad = p.grad, None
            if grad is not None:
                p = p - lr * grad
    return history
