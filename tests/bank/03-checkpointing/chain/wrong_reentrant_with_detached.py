# misconception: makes a copy of x require a gradient, so that the reentrant variant works
# fails: an embedding first
# message: which take no gradient
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError("segments")
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    if not x.requires_grad:
        x = x.detach().requires_grad_()
    for begin, end in zip(cuts, cuts[1:]):
        def segment(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x
        x = torch.utils.checkpoint.checkpoint(segment, x, use_reentrant=True)
    return x
