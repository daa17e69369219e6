# misconception: two tensors of one shape are the same tensor
# fails: equal shapes, different storages
# message: Two tensors of one shape are still two storages.
def ledger(fn, *args, params=()):
    seen = {tuple(param.shape) for param in params} | {tuple(param.shape)[::-1] for param in params}
    rows = []

    def pack(tensor):
        if tuple(tensor.shape) not in seen:
            seen.add(tuple(tensor.shape))
            rows.append((tuple(tensor.shape), tensor.dtype, tensor.untyped_storage().nbytes()))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return rows
