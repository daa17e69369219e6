# misconception: drawing the next batch early is still lazy
# fails: one batch at a time
# message: Draw a batch only when its output is asked for
def stream(model, batches):
    source = iter(batches)
    done = object()
    batch = next(source, done)
    while batch is not done:
        with torch.no_grad():
            output = model(batch)
        batch = next(source, done)
        yield output
