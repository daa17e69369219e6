# misconception: goes on with the next batch when the model raises
# fails: other errors
# message: the error got lost
def stream(model, batches):
    for batch in batches:
        with torch.no_grad():
            try:
                output = model(batch)
            except RuntimeError:
                continue
        yield output
