# misconception: turns everything into float32
# fails: float64
# message: x keeps its dtype
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError("segments")
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):
        def segment(x, part=layers[begin:end]):
            y = x.float()
            for layer in part:
                y = layer(y)
            return y
        x = torch.utils.checkpoint.checkpoint(segment, x, use_reentrant=False)
    return x
