# misconception: weights are no activations, so an nn.Parameter is treated apart
# fails: an nn.Parameter counts too
# message: You left out what is an nn.Parameter.
def saved_bytes(fn, *args):
    sizes = []

    def pack(tensor):
        if not isinstance(tensor, nn.Parameter):
            sizes.append(tensor.numel() * tensor.element_size())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return len(sizes), sum(sizes)
