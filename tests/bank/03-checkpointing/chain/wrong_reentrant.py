# misconception: both variants do the same
# fails: weights, when x needs no gradient
# message: The reentrant variant cuts the graph there
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):

        def run(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=True)
    return x
