# misconception: a dict by storage may be overwritten, so the last packed tensor gives the row
# fails: two views of one storage
# message: The row's shape is that of the tensor that was packed first
def ledger(fn, *args, params=()):
    known = {param.untyped_storage() for param in params}
    rows = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if not any(storage is other for other in known):
            place = next((s for s in rows if s is storage), storage)
            rows[place] = (tuple(tensor.shape), tensor.dtype, storage.nbytes())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return list(rows.values())
