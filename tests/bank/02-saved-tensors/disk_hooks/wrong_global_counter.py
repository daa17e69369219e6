# misconception: a counter for the whole process cannot meet a file that stands there already
# fails: files that stood there before
# message: A file that already stood in the folder
import itertools

_numbers = itertools.count()


class OnDisk:
    def __init__(self, tensor, folder):
        self.path = Path(folder) / f"saved_{next(_numbers):06d}.pt"
        torch.save(tensor.detach().clone(), self.path)

    def __del__(self):
        self.path.unlink(missing_ok=True)


def disk_hooks(folder):
    return lambda tensor: OnDisk(tensor, folder), lambda packed: torch.load(packed.path)
