# in place through .data, gradients set to zero
def descend(params, loss_fn, lr, steps):
    def clear():
        for p in params:
            if p.grad is not None:
                p.grad.zero_()

    out = []
    clear()
    for _ in range(steps):
        loss = loss_fn()
        loss.backward()
        out.append(loss.detach().item())
        for p in params:
            if p.grad is not None:
                p.data.add_(p.grad, alpha=-lr)
        clear()
    return out
