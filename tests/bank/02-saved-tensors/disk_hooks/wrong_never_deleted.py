# misconception: somebody else cleans up the folder
# fails: no file after backward
# message: its file has to go with it
def disk_hooks(folder):
    import uuid

    def pack(tensor):
        path = Path(folder) / uuid.uuid4().hex
        torch.save(tensor.detach().clone(), path)
        return path

    return pack, torch.load
