# misconception: notes the loss after the step, with a second call
# fails: the loss before each step
# message: That is the loss after each step.
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        loss = loss_fn()
        loss.backward()
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
        history.append(loss_fn().item())
    return history
