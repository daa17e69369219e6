# misconception: the last run needs no checkpoint
# fails: seven layers in three runs
# message: The last run was not redone.
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    cuts = [len(layers) * i // segments for i in range(segments + 1)]

    def make(part):
        def run(x):
            for layer in part:
                x = layer(x)
            return x

        return run

    for i, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        run = make(layers[begin:end])
        x = run(x) if i == segments - 1 else torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    return x
