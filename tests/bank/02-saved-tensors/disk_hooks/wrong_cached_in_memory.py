# misconception: a small cache of what was written does no harm
# fails: nothing stays in memory
# message: is still in memory
def disk_hooks(folder):
    import uuid

    class OnDisk:
        def __init__(self, tensor):
            self.tensor = tensor.detach()
            self.path = Path(folder) / uuid.uuid4().hex
            torch.save(self.tensor.clone(), self.path)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return OnDisk, lambda packed: packed.tensor
