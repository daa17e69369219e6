# misconception: the number of elements is the number of bytes
# fails: the MLP of section 1
# message: You summed elements.
def saved_bytes(fn, *args):
    sizes = []

    def pack(tensor):
        sizes.append(tensor.numel())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return len(sizes), sum(sizes)
