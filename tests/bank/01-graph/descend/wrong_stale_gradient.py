# misconception: starts with whatever lies in .grad
# fails: a gradient found there is ignored, and gone afterwards
# fails: a gradient found there is ignored
# message: Something may lie in .grad before the first step.
def descend(params, loss_fn, lr, steps):
    history = []
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
