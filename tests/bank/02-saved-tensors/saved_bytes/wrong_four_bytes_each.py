# misconception: every element has four bytes
# fails: float64
# fails: a mask is packed as bool
# message: Ask the tensor: element_size().
def saved_bytes(fn, *args):
    sizes = []

    def pack(tensor):
        sizes.append(4 * tensor.numel())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return len(sizes), sum(sizes)
