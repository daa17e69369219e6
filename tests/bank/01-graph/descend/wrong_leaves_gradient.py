# misconception: clears before each step but not after the last
# fails: a gradient found there is ignored, and gone afterwards
# fails: no gradient is left
# message: lear it after the last step too
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        for p in params:
            p.grad = None
        loss = loss_fn()
        history.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= lr * p.grad
    return history
