def stream(model, batches):
    """A decorated function has the mode for the time of the call, and map is lazy."""

    @torch.no_grad()
    def one(batch):
        return model(batch)

    return map(one, batches)
