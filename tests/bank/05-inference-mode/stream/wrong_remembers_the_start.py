# misconception: the caller's mode is the one at the start
# fails: a caller that switches between items
# message: put back over the caller's own choice
def stream(model, batches):
    before = torch.is_grad_enabled()
    for batch in batches:
        torch.set_grad_enabled(False)
        try:
            output = model(batch)
        finally:
            torch.set_grad_enabled(before)
        yield output
