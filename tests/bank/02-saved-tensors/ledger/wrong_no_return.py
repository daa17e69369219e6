# misconception: forgets the return
# fails: one storage, one row
# message: If your function returned None, a `return` is missing.
def ledger(fn, *args, params=()):
    packed = []
    with saved_tensors_hooks(lambda tensor: packed.append(tensor) or len(packed) - 1, lambda index: packed[index]):
        fn(*args)
    owned = list(params)
    skip = {id(param.untyped_storage()) for param in owned}
    first = {}
    for tensor in packed:
        first.setdefault(id(tensor.untyped_storage()), tensor)
    [(tuple(tensor.shape), tensor.dtype, tensor.untyped_storage().nbytes()) for key, tensor in first.items() if key not in skip]
