from torch.multiprocessing.reductions import StorageWeakRef


def ledger(fn, *args, params=()):
    """A weak reference keeps the storage's header, so its address is not given away, while the bytes may go."""
    met = {StorageWeakRef(param.untyped_storage()) for param in params}
    rows = []

    class Record:
        def __init__(self, tensor):
            self.tensor = tensor.detach()
            reference = StorageWeakRef(tensor.untyped_storage())
            if reference not in met:
                met.add(reference)
                rows.append((tensor.shape, tensor.dtype, tensor.untyped_storage().size()))

        def get(self):
            return self.tensor

    with saved_tensors_hooks(Record, Record.get):
        fn(*args)
    return rows
