def stream(model, batches):
    for batch in batches:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        try:
            output = model(batch)
        finally:
            torch.set_grad_enabled(before)
        yield output
