# misconception: a call that returned is done
# fails: work on a device is waited for
# message: Synchronize before each reading
import statistics
import time


def measure(fn, repeats):
    names = ("grad", "no_grad", "inference_mode")

    def once(name):
        with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
            begin = time.perf_counter_ns()
            fn()
            pass
            return time.perf_counter_ns() - begin

    times = {name: [] for name in names}
    for name in names:
        once(name)
    for _ in range(repeats):
        for name in names:
            times[name].append(once(name))
    return {name: float(statistics.median(values)) for name, values in times.items()}
