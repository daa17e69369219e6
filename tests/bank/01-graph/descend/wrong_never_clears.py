# misconception: forgets that backward adds to .grad
# fails: the parameter itself moves
# message: the gradient of the first step is still in .grad
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
    return history
