# misconception: an address is an identity
# fails: forty graphs, each dropped
# message: a freed address, or id, is used again
def ledger(fn, *args, params=()):
    seen = {param.untyped_storage().data_ptr() for param in params}
    rows = []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            rows.append((tuple(tensor.shape), tensor.dtype, storage.nbytes()))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return rows
