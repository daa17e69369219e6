# misconception: forgets the return
# fails: after an error
# message: If your function returned None, a `return` is missing.
def stream(model, batches):

    @torch.no_grad()
    def run(batch):
        return model(batch)
    (run(batch) for batch in batches)
