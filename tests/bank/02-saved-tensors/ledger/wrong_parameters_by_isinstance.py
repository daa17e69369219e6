# misconception: a saved weight is an nn.Parameter
# fails: a Linear saves its input
# message: The weight is still there.
def ledger(fn, *args, params=()):
    held, rows = [], []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if not isinstance(tensor, nn.Parameter) and not any(storage is other for other in held):
            held.append(storage)
            rows.append((tuple(tensor.shape), tensor.dtype, storage.nbytes()))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return rows
