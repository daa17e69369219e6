# misconception: the random state can be ignored to save time
# fails: dropout masks repeat
# message: leave preserve_rng_state on
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):

        def run(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False, preserve_rng_state=False)
    return x
