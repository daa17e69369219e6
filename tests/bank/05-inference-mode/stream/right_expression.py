def stream(model, batches):
    @torch.no_grad()
    def run(batch):
        return model(batch)

    return (run(batch) for batch in batches)
