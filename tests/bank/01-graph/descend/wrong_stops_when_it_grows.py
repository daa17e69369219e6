# misconception: stops when the loss grows
# fails: steps say how many, also when the loss grows
# message: do not stop early
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        loss = loss_fn()
        history.append(loss.item())
        if len(history) > 1 and history[-1] >= history[-2]:
            break
        loss.backward()
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
    return history
