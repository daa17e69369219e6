# misconception: keeps the times of earlier calls
# fails: the median
# message: Report the median over the rounds
_times = {"grad": [], "no_grad": [], "inference_mode": []}

def measure(fn, repeats):
    def once(name):
        with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            fn()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            return time.perf_counter_ns() - begin

    names = ("grad", "no_grad", "inference_mode")
    times = _times
    for name in names:
        once(name)
    for _ in range(repeats):
        for name in names:
            times[name].append(once(name))
    return {name: float(statistics.median(values)) for name, values in times.items()}
