# misconception: the mode can be switched by hand
# fails: the model raises
# message: the caller's mode was not restored
def stream(model, batches):
    for batch in batches:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        output = model(batch)
        torch.set_grad_enabled(before)
        yield output
