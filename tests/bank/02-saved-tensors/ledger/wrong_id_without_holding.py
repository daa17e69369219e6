# misconception: id() stays unique after its owner died
# fails: forty graphs, each dropped
# message: a freed address, or id, is used again
def ledger(fn, *args, params=()):
    owned = list(params)
    seen = {id(param.untyped_storage()) for param in owned}
    rows = []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if id(storage) not in seen:
            seen.add(id(storage))
            rows.append((tuple(tensor.shape), tensor.dtype, storage.nbytes()))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return rows
