# misconception: afterwards gradients are on
# fails: callers in other modes
# message: leave it as it was
def stream(model, batches):
    for batch in batches:
        torch.set_grad_enabled(False)
        try:
            output = model(batch)
        finally:
            torch.set_grad_enabled(True)
        yield output
