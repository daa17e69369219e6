# misconception: puts the mode back after a ValueError only
# fails: other errors
# message: Whatever the error is
def stream(model, batches):
    for batch in batches:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        try:
            output = model(batch)
        except ValueError:
            torch.set_grad_enabled(before)
            raise
        torch.set_grad_enabled(before)
        yield output
