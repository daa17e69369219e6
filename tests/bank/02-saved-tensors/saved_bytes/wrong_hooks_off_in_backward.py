# misconception: counting ends with the first unpacking, because backward packs nothing
# fails: what backward packs inside fn
# message: backward recorded a graph and packed tensors as well
def saved_bytes(fn, *args):
    sizes = []
    unpacking = []

    def pack(tensor):
        if not unpacking:
            sizes.append(tensor.numel() * tensor.element_size())
        return tensor.detach()

    def unpack(tensor):
        unpacking.append(True)
        return tensor

    with saved_tensors_hooks(pack, unpack):
        fn(*args)
    return len(sizes), sum(sizes)
