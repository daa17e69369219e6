class Counter:
    def __init__(self):
        self.tensors = 0
        self.bytes = 0

    def pack(self, tensor):
        self.tensors += 1
        self.bytes += tensor.nbytes
        return tensor.detach()

    def unpack(self, tensor):
        return tensor


def saved_bytes(fn, *args):
    counter = Counter()
    hooks = saved_tensors_hooks(counter.pack, counter.unpack)
    hooks.__enter__()
    try:
        fn(*args)
    finally:
        hooks.__exit__()
    return counter.tensors, counter.bytes
