# misconception: collects the outputs that it yields
# fails: earlier outputs are not kept
# message: a list of them grows
def stream(model, batches):
    outputs = []
    for batch in batches:
        with torch.no_grad():
            outputs.append(model(batch))
        yield outputs[-1]
