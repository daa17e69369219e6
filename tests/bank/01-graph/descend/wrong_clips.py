# misconception: clips the gradient, as training loops do
# fails: steps say how many, also when the loss grows
# message: do not clip the gradient
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        loss = loss_fn()
        history.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 100.0)
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
    return history
