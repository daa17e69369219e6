# misconception: believes that without a graph there is nothing to do
# fails: under no_grad
# message: the layers run all the same
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError("segments")
    if not torch.is_grad_enabled():
        return x
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):
        def segment(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x
        x = torch.utils.checkpoint.checkpoint(segment, x, use_reentrant=False)
    return x
