# misconception: goes on when fn raises
# fails: an error in fn
# message: fn raised, and the error got lost
def measure(fn, repeats):
    def once(name):
        with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            try:
                fn()
            except Exception:
                pass
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            return time.perf_counter_ns() - begin

    names = ("grad", "no_grad", "inference_mode")
    times = {name: [] for name in names}
    for name in names:
        once(name)
    for _ in range(repeats):
        for name in names:
            times[name].append(once(name))
    return {name: float(statistics.median(values)) for name, values in times.items()}
