import timeit
from contextlib import ExitStack
from statistics import median


def measure(fn, repeats):
    """timeit's Timer, one call at a time."""

    def run():
        fn()
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    def enter(name):
        stack = ExitStack()
        stack.enter_context(torch.inference_mode(name == "inference_mode"))
        if name == "grad":
            stack.enter_context(torch.enable_grad())
        elif name == "no_grad":
            stack.enter_context(torch.no_grad())
        return stack

    timer, seconds = timeit.Timer(run), {"inference_mode": [], "no_grad": [], "grad": []}
    for name in seconds:
        with enter(name):
            timer.timeit(number=1)
    for _ in range(repeats):
        for name, values in seconds.items():
            with enter(name):
                values.append(timer.timeit(number=1))
    return {name: 1e9 * median(values) for name, values in seconds.items()}
