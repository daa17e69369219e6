# misconception: the last run takes the rest
# fails: another chain
# message: Lengths may differ by at most one.
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    size = len(layers) // segments
    for i in range(segments):
        part = layers[i * size : (i + 1) * size if i < segments - 1 else None]

        def run(x, part=part):
            for layer in part:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    return x
