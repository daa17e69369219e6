# misconception: a decorator on the generator is the same as a with block around the model
# fails: batches are drawn in the caller's mode
# message: The mode was on while batches were drawn.
@torch.no_grad()
def stream(model, batches):
    for batch in batches:
        yield model(batch)
