# misconception: a function made in a loop remembers the loop variable of its round
# fails: seven layers in three runs
# message: mind closures over a loop variable
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):

        def run(x):
            for layer in layers[begin:end]:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    return x
