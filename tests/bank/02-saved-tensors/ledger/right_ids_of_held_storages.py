def ledger(fn, *args, params=()):
    held = [param.untyped_storage() for param in params]
    skip = len(held)
    firsts = []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if id(storage) not in map(id, held):
            held.append(storage)
            firsts.append((tuple(tensor.shape), tensor.dtype))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return [(*first, storage.nbytes()) for first, storage in zip(firsts, held[skip:])]
