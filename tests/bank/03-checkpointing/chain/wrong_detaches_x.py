# misconception: detaches x, so that it is left alone
# fails: the gradient of x
# message: do not detach it
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError("segments")
    x = x.detach()
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):
        def segment(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x
        x = torch.utils.checkpoint.checkpoint(segment, x, use_reentrant=False)
    return x
