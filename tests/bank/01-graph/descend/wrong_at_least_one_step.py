# misconception: takes a step also when none is asked
# fails: loss_fn is called once per step
# fails: no steps
# message: With steps = 0 nothing is computed
def descend(params, loss_fn, lr, steps):
    history = []
    for i in range(max(steps, 1)):
        for p in params:
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
