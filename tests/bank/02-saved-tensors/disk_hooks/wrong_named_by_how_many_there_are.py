# misconception: the number of files in the folder is a name that nobody has yet
# fails: one dropped before the next
# message: The number of files in the folder is no name
def disk_hooks(folder):
    class Saved:
        def __init__(self, tensor):
            self.path = Path(folder) / f"{len(list(Path(folder).iterdir()))}.pt"
            torch.save(tensor.detach().clone(), self.path)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return Saved, lambda saved: torch.load(saved.path)
