# backward, cleared before and after
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
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
    return history
