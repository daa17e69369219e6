# os.open with O_EXCL tries names until one is free, and a finalizer on the packed object removes the file
def disk_hooks(folder):
    import io
    import os
    import weakref

    class Ticket:
        def __init__(self, path):
            self.path = path
            weakref.finalize(self, os.unlink, path)

    def pack(tensor):
        buffer = io.BytesIO()
        torch.save(tensor.detach().clone(), buffer)
        number = 0
        while True:
            path = os.path.join(str(folder), f"tensor{number}")
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
                break
            except FileExistsError:
                number += 1
        with os.fdopen(descriptor, "wb") as file:
            file.write(buffer.getvalue())
        return Ticket(path)

    return pack, lambda ticket: torch.load(ticket.path)
