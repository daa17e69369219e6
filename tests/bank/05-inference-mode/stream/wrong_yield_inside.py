# misconception: the with block belongs around the loop
# fails: the caller's mode between items
# message: The generator is suspended inside its with block
def stream(model, batches):
    with torch.no_grad():
        for batch in batches:
            yield model(batch)
