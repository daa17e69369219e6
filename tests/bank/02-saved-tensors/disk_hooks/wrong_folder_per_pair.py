# misconception: one temporary folder for the pair of hooks is enough: it goes with the hooks
# fails: no file after backward
# message: the file must not wait for them
def disk_hooks(folder):
    import tempfile
    import uuid

    home = tempfile.TemporaryDirectory(dir=folder)

    def pack(tensor):
        path = Path(home.name) / f"{uuid.uuid4()}.pt"
        torch.save(tensor.detach().clone(), path)
        return path

    return pack, torch.load
