# misconception: takes any error of the batches for their end
# fails: other errors
# message: the error got lost
def stream(model, batches):
    source = iter(batches)
    while True:
        try:
            batch = next(source)
        except Exception:
            return
        with torch.no_grad():
            output = model(batch)
        yield output
