# misconception: x may be changed so that the graph does not end there
# fails: x is left as it was
# message: It belongs to the caller
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    if x.is_leaf:
        x.requires_grad_()
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):

        def run(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=True)
    return x
