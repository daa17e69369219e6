# misconception: leaves the loop at a parameter that the loss does not use
# fails: a parameter that the loss does not use stays
# fails: all parameters step from the same loss
# message: go on with the next instead
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
                if p.grad is None:
                    break
                p -= lr * p.grad
        for p in params:
            p.grad = None
    return history
