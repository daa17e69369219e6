# misconception: layers are modules
# fails: layers that are no modules
# message: nn.Sequential takes modules only
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError("segments is out of range")
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):
        x = torch.utils.checkpoint.checkpoint(nn.Sequential(*layers[begin:end]), x, use_reentrant=False)
    return x
