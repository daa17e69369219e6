# misconception: gives the parameter new memory instead of writing into its own
# fails: in place, on the same storage
# message: The caller holds the memory of the parameter.
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
                    p.data = p.data - lr * p.grad
                p.grad = None
    return history
