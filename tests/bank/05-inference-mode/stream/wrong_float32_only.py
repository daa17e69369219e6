# misconception: turns every output into float32
# fails: empty batches, and float64
# message: as the model gives it
def stream(model, batches):
    for batch in batches:
        with torch.no_grad():
            output = model(batch).float()
        yield output
