# misconception: leaves are no activations, so they are left out
# fails: the MLP of section 1
# message: You left the weights out.
def saved_bytes(fn, *args):
    sizes = []
    weights = [arg for arg in args[1:] if isinstance(arg, torch.Tensor) and arg.is_leaf]

    def pack(tensor):
        if not any(tensor is weight for weight in weights):
            sizes.append(tensor.numel() * tensor.element_size())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return len(sizes), sum(sizes)
