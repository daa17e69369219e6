def disk_hooks(folder):
    from itertools import count
    from secrets import token_hex
    from weakref import finalize

    prefix, numbers = token_hex(16), count()

    class Ticket:
        pass

    def pack(tensor):
        ticket = Ticket()
        ticket.path = f"{folder}/{prefix}-{next(numbers)}"
        with open(ticket.path, "xb") as file:
            torch.save(tensor.detach().clone(), file)
        finalize(ticket, Path(ticket.path).unlink)
        return ticket

    def unpack(ticket):
        with open(ticket.path, "rb") as file:
            return torch.load(file)

    return pack, unpack
