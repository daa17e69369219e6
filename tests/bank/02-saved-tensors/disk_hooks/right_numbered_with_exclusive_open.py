def disk_hooks(folder):
    import itertools

    root = Path(folder)

    class Ticket:
        def __init__(self, path):
            self.path = path

        def __del__(self):
            if self.path.exists():
                self.path.unlink()

    def pack(tensor):
        for number in itertools.count():
            path = root / f"saved-{number}"
            try:
                file = path.open("xb")
            except FileExistsError:
                continue
            with file:
                torch.save(tensor.detach().clone(), file)
            return Ticket(path)

    def unpack(ticket):
        with ticket.path.open("rb") as file:
            return torch.load(file, weights_only=True)

    return pack, unpack
