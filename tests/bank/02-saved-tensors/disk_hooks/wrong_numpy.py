# misconception: every tensor can become a NumPy array
# fails: every dtype
# message: NumPy has no bfloat16.
def disk_hooks(folder):
    import uuid

    import numpy

    class OnDisk:
        def __init__(self, tensor):
            self.path = Path(folder) / f"{uuid.uuid4().hex}.npy"
            numpy.save(self.path, tensor.detach().numpy())

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return OnDisk, lambda packed: torch.from_numpy(numpy.load(packed.path))
