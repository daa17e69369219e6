# misconception: a counter gives names that nobody else has
# fails: two pairs of hooks on one folder
# message: A counter that starts again at zero collides
def disk_hooks(folder):
    import itertools

    numbers = itertools.count()

    class OnDisk:
        def __init__(self, tensor):
            self.path = Path(folder) / f"{next(numbers)}.pt"
            torch.save(tensor.detach().clone(), self.path)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return OnDisk, lambda packed: torch.load(packed.path)
