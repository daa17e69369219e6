# misconception: shape and dtype name a tensor
# fails: short-lived tensors
# message: a shape is no name
def disk_hooks(folder):
    class OnDisk:
        def __init__(self, tensor):
            self.path = Path(folder) / f"tensor-{'x'.join(map(str, tensor.shape))}-{tensor.dtype}.pt"
            torch.save(tensor.detach().clone(), self.path)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return OnDisk, lambda packed: torch.load(packed.path)
