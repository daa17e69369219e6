# misconception: the file belongs to the tensor, so it goes when the tensor goes
# fails: short-lived tensors
# message: it went with the tensor instead of with what pack returned
def disk_hooks(folder):
    import os
    import tempfile
    import weakref

    def pack(tensor):
        number, path = tempfile.mkstemp(dir=folder)
        os.close(number)
        torch.save(tensor.detach().clone(), path)
        weakref.finalize(tensor, os.unlink, path)
        return path

    return pack, torch.load
