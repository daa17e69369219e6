# the optimizer that PyTorch brings
def descend(params, loss_fn, lr, steps):
    optimizer = torch.optim.SGD(params, lr=lr)
    found = []
    optimizer.zero_grad()
    for _ in range(steps):
        loss = loss_fn()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found
