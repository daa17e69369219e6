# misconception: a with block around each model call and its yield is tight enough
# fails: the caller's mode between items
# message: Yield outside of it.
def stream(model, batches):
    for batch in batches:
        with torch.inference_mode():
            yield model(batch)
