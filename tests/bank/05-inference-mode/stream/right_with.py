def stream(model, batches):
    for batch in batches:
        with torch.inference_mode():
            output = model(batch)
        yield output
