# misconception: takes the layers out of the list that the caller holds
# fails: the list of layers is left as it was
# message: The list belongs to the caller
def chain(layers, x, segments):
    n = len(layers)
    if not 1 <= segments <= n:
        raise ValueError("segments")
    for i in range(segments):
        part = []
        for _ in range(n * (i + 1) // segments - n * i // segments):
            part.append(layers.pop(0))
        def run(x, part=part):
            for layer in part:
                x = layer(x)
            return x
        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    return x
