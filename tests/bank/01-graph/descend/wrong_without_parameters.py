# misconception: clears what is no Parameter, since optimizers do that for a Parameter
# fails: parameters of every kind
# message: A Parameter is a parameter like any other
def descend(params, loss_fn, lr, steps):
    history = []
    for _ in range(steps):
        for p in params:
            if not isinstance(p, torch.nn.Parameter):
                p.grad = None
        loss = loss_fn()
        history.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= lr * p.grad
    for p in params:
        p.grad = None
    return history
