# misconception: a detached output is the same as no graph
# fails: gradients are off while the model runs
# message: The model ran with gradients on.
def stream(model, batches):
    for batch in batches:
        yield model(batch).detach()
