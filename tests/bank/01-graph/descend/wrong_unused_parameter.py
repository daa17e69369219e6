# misconception: expects a gradient for every parameter
# fails: a parameter that the loss does not use stays
# fails: a parameter that the loss does not use
# message: it is None. Skip it.
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        loss = loss_fn()
        history.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for p in params:
                p -= lr * p.grad
                p.grad = None
    return history
