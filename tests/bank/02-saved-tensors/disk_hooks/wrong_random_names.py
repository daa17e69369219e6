# misconception: a random number is a unique name
# fails: generators seeded in between
# message: The names repeat when someone seeds random or torch.
def disk_hooks(folder):
    import random

    class OnDisk:
        def __init__(self, tensor):
            self.path = Path(folder) / f"{random.getrandbits(64):016x}.pt"
            torch.save(tensor.detach().clone(), self.path)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return OnDisk, lambda packed: torch.load(packed.path)
