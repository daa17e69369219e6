def disk_hooks(folder):
    import shutil
    import tempfile

    class Place:
        def __init__(self):
            self.folder = tempfile.mkdtemp(dir=folder)

        def __del__(self, remove=shutil.rmtree):
            remove(self.folder, ignore_errors=True)

    def pack(tensor):
        place = Place()
        torch.save(tensor.detach().clone(), f"{place.folder}/tensor")
        return place

    def unpack(place):
        with open(f"{place.folder}/tensor", "rb") as file:
            return torch.load(file)

    return pack, unpack
