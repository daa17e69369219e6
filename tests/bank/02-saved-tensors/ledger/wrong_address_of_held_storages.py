# misconception: as long as storages are held, addresses tell them apart
# fails: empty tensors
# message: the same address 0
def ledger(fn, *args, params=()):
    held = {}
    for param in params:
        held[param.untyped_storage().data_ptr()] = param.untyped_storage()
    rows = []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in held:
            held[storage.data_ptr()] = storage
            rows.append((tuple(tensor.shape), tensor.dtype, storage.nbytes()))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return rows
