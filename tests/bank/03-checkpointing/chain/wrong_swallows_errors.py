# misconception: goes on after a layer that raised
# fails: an error in a layer
# fails: a layer that raises
# message: goes to the caller as it is
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError("segments")
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):
        def segment(x, part=layers[begin:end]):
            for layer in part:
                try:
                    x = layer(x)
                except Exception:
                    pass
            return x
        x = torch.utils.checkpoint.checkpoint(segment, x, use_reentrant=False)
    return x
