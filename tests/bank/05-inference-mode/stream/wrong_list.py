# misconception: all outputs at once are simpler
# fails: one batch at a time
# message: All batches were drawn before the first output.
def stream(model, batches):
    batches = list(batches)
    with torch.no_grad():
        outputs = [model(batch) for batch in batches]
    yield from outputs
