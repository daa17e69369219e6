# misconception: serialized bytes are not memory
# fails: the bytes are in files
# message: There is no file below the folder
def disk_hooks(folder):
    import io

    def pack(tensor):
        buffer = io.BytesIO()
        torch.save(tensor.detach().clone(), buffer)
        return buffer

    def unpack(buffer):
        buffer.seek(0)
        return torch.load(buffer)

    return pack, unpack
