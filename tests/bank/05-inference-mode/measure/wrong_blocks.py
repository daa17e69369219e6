# misconception: all of one mode, then all of the next
# fails: each round holds every mode once
# message: The modes are timed in blocks.
import statistics
import time


def measure(fn, repeats):
    names = ("grad", "no_grad", "inference_mode")

    def once(name):
        with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
            begin = time.perf_counter_ns()
            fn()
            torch.cuda.is_available() and torch.cuda.synchronize()
            return time.perf_counter_ns() - begin

    times = {name: [] for name in names}
    for name in names:
        once(name)
    for name in names:
        for _ in range(repeats):
            times[name].append(once(name))
    return {name: float(statistics.median(values)) for name, values in times.items()}
