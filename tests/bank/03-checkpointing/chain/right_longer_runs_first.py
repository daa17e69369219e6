from functools import partial, reduce


def run(part, x):
    return reduce(lambda value, layer: layer(value), part, x)


def chain(layers: list, x: torch.Tensor, segments: int) -> torch.Tensor:
    if segments not in range(1, len(layers) + 1):
        raise ValueError("segments must lie between 1 and the number of layers")
    size, longer = divmod(len(layers), segments)
    begin = 0
    for i in range(segments):
        end = begin + size + (i < longer)
        x = torch.utils.checkpoint.checkpoint(partial(run, layers[begin:end]), x, use_reentrant=False)
        begin = end
    return x
