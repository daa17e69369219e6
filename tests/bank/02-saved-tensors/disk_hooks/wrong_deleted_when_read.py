# misconception: a saved tensor is read once
# fails: reading twice, other values
# fails: read twice
# message: unpack must not delete it
def disk_hooks(folder):
    import uuid

    def pack(tensor):
        path = Path(folder) / uuid.uuid4().hex
        torch.save(tensor.detach().clone(), path)
        return path

    def unpack(path):
        tensor = torch.load(path)
        path.unlink()
        return tensor

    return pack, unpack
