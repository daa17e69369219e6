# misconception: a tensor that is packed twice is kept twice
# fails: one storage, one row
# message: it is one storage: one row
def ledger(fn, *args, params=()):
    skip = [param.untyped_storage() for param in params]
    rows = []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if not any(storage is other for other in skip):
            rows.append((tuple(tensor.shape), tensor.dtype, storage.nbytes()))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return rows
