# misconception: a view counts the bytes of its storage
# fails: a view counts its own elements
# message: You took the bytes of the storage.
def saved_bytes(fn, *args):
    sizes = []

    def pack(tensor):
        sizes.append(tensor.untyped_storage().nbytes())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return len(sizes), sum(sizes)
