# misconception: the packed object lives as long as its file, so its id is a name for the file
# fails: files that stood there before
# message: Create files so that an existing one is never opened
def disk_hooks(folder):
    class Saved:
        def __init__(self, tensor):
            self.path = Path(folder) / f"{id(self)}.pt"
            torch.save(tensor.detach().clone(), self.path)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    return Saved, lambda saved: torch.load(saved.path)
