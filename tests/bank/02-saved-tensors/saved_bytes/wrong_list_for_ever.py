# misconception: a list at module level is as good as one per call
# fails: nothing outlives the call
# message: What fn computed is still in memory after the call.
PACKED = []


def saved_bytes(fn, *args):
    del PACKED[:]

    def pack(tensor):
        PACKED.append(tensor.detach())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return len(PACKED), sum(tensor.nbytes for tensor in PACKED)
