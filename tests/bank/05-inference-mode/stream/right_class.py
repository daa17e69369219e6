class stream:
    """An iterator by hand."""

    def __init__(self, model, batches):
        self.model, self.source = model, iter(batches)

    def __iter__(self):
        return self

    def __next__(self):
        batch = next(self.source)
        with torch.inference_mode():
            return self.model(batch)
