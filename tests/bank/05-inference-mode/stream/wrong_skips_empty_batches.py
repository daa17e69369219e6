# misconception: skips batches without rows
# fails: empty batches, and float64
# message: an empty one too
def stream(model, batches):
    for batch in batches:
        if batch.numel() == 0:
            continue
        with torch.no_grad():
            output = model(batch)
        yield output
