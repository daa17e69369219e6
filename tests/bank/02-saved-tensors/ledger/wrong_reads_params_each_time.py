# misconception: params can be read again for every tensor
# fails: a generator again, and equal shapes
# message: params may be a generator
def ledger(fn, *args, params=()):
    held, rows = [], []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if not any(storage is param.untyped_storage() for param in params) and not any(storage is other for other in held):
            held.append(storage)
            rows.append((tuple(tensor.shape), tensor.dtype, storage.nbytes()))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return rows
