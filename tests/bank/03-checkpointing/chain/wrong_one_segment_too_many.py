# misconception: `segments` cuts make `segments` runs
# fails: seven layers in three runs
# message: There were more runs than segments.
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    cuts = [len(layers) * i // (segments + 1) for i in range(segments + 2)]
    for begin, end in zip(cuts, cuts[1:]):

        def run(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    return x
