# misconception: grad is what you have without a context
# fails: grad is on inside no_grad
# message: nothing was recorded when the caller was inside no_grad
import statistics
import time


def measure(fn, repeats):
    names = ("grad", "no_grad", "inference_mode")

    def once(name):
        with (torch.inference_mode() if name == "inference_mode" else __import__("contextlib").nullcontext()), (torch.no_grad() if name == "no_grad" else __import__("contextlib").nullcontext()):
            begin = time.perf_counter_ns()
            fn()
            torch.cuda.is_available() and torch.cuda.synchronize()
            return time.perf_counter_ns() - begin

    times = {name: [] for name in names}
    for name in names:
        once(name)
    for _ in range(repeats):
        for name in names:
            times[name].append(once(name))
    return {name: float(statistics.median(values)) for name, values in times.items()}
