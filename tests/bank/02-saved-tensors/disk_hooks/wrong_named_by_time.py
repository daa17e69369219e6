# misconception: no two tensors are saved at the same nanosecond
# fails: a clock that stands still
# message: a time alone is no name
def disk_hooks(folder):
    import time

    class Saved:
        def __init__(self, tensor):
            self.path = Path(folder) / f"saved-{time.time_ns()}.pt"
            torch.save(tensor.detach().clone(), self.path)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return Saved, lambda saved: torch.load(saved.path)
