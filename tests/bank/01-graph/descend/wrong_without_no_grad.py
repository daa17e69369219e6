# misconception: updates a leaf while PyTorch records
# fails: the parameter itself moves
# message: A leaf may be changed in place only under torch.no_grad().
def descend(params, loss_fn, lr, steps):
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        loss = loss_fn()
        history.append(loss.item())
        loss.backward()
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad
            p.grad = None
    return history
