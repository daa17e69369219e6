# misconception: runs of ceil(n / segments) layers make `segments` runs of nearly equal length
# fails: seven layers in three runs
# message: Lengths differ by two.
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    size = -(-len(layers) // segments)
    for begin in range(0, len(layers), size):

        def run(x, part=layers[begin : begin + size]):
            for layer in part:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    return x
