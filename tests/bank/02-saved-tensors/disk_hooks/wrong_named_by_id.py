# misconception: id() names a tensor for good
# fails: the gradient
# fails: short-lived tensors
# message: or a shape is no name
def disk_hooks(folder):
    class OnDisk:
        def __init__(self, tensor):
            self.path = Path(folder) / f"{id(tensor)}.pt"
            torch.save(tensor.detach().clone(), self.path)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return OnDisk, lambda packed: torch.load(packed.path)
