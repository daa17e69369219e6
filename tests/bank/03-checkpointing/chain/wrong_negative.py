# misconception: only zero and too many are out of range
# fails: fewer than none
# message: a negative number too
def chain(layers, x, segments):
    if segments == 0 or segments > len(layers):
        raise ValueError("segments out of range")
    size, rest = divmod(len(layers), segments)
    begin = 0
    for number in range(segments):
        end = begin + size + (number < rest)
        x = torch.utils.checkpoint.checkpoint(lambda x, part=layers[begin:end]: run(part, x), x, use_reentrant=False)
        begin = end
    return x


def run(layers, x):
    for layer in layers:
        x = layer(x)
    return x
