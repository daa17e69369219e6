# misconception: computes the loss once to note it and once more to differentiate it
# fails: loss_fn is called once per step
# fails: the loss is computed once per step
# message: loss
def descend(params, loss_fn, lr, steps):
    history = []
    for _ in range(steps):
        for p in params:
            p.grad = None
        history.append(loss_fn().item())
        loss_fn().backward()
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
    return history
