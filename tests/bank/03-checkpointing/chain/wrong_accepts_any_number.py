# misconception: a number of segments that is out of range can be clipped
# fails: no segments
# fails: more segments than layers
# message: ValueError
def chain(layers, x, segments):
    segments = min(max(segments, 1), len(layers))
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):

        def run(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    return x
