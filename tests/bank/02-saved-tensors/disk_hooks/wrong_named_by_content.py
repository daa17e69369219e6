# misconception: equal values may share a file
# fails: the gradient
# message: A file was gone before it was read
def disk_hooks(folder):
    import hashlib
    import io

    class OnDisk:
        def __init__(self, tensor):
            buffer = io.BytesIO()
            torch.save(tensor.detach().clone(), buffer)
            data = buffer.getvalue()
            self.path = Path(folder) / hashlib.sha256(data).hexdigest()
            self.path.write_bytes(data)

        def __del__(self):
            self.path.unlink(missing_ok=True)

    def unpack(packed):
        return torch.load(packed.path)

    return OnDisk, unpack
