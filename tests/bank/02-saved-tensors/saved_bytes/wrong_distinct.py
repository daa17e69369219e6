# misconception: duplicates are counted once
# fails: x * x packs x twice
# message: You counted distinct tensors.
def saved_bytes(fn, *args):
    seen = {}

    def pack(tensor):
        seen[tensor.data_ptr(), tensor.shape] = tensor
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return len(seen), sum(tensor.nbytes for tensor in seen.values())
