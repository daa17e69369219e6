from functools import partial, reduce


def chain(layers, x, segments):
    count = len(layers)
    if segments not in range(1, count + 1):
        raise ValueError(f"{segments} segments for {count} layers")

    def run(part, x):
        return reduce(lambda value, layer: layer(value), part, x)

    def rest(layers, x, segments):
        if segments == 0:
            return x
        size = round(len(layers) / segments)
        x = torch.utils.checkpoint.checkpoint(partial(run, layers[:size]), x, use_reentrant=False)
        return rest(layers[size:], x, segments - 1)

    return rest(layers, x, segments)
