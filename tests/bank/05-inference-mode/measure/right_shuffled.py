import random
import statistics
from time import perf_counter


def measure(fn, repeats):
    """Rounds in random order, seconds turned into nanoseconds."""
    modes = {
        "grad": lambda: torch.inference_mode(False),
        "no_grad": torch.no_grad,
        "inference_mode": torch.inference_mode,
    }

    def wait():
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    def timed(name):
        with modes[name](), torch.set_grad_enabled(name == "grad"):
            wait()
            begin = perf_counter()
            fn()
            wait()
            return (perf_counter() - begin) * 1e9

    for _ in range(3):
        for name in modes:
            timed(name)
    found = {name: [] for name in modes}
    for _ in range(repeats):
        for name in random.sample(sorted(modes), 3):
            found[name].append(timed(name))
    return {name: statistics.median(values) for name, values in found.items()}
