# misconception: returns tensors for floats
# fails: the loss before each step
# message: loss.item() makes one of a tensor
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        loss = loss_fn()
        history.append(loss.detach())
        loss.backward()
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
    return history
