# misconception: waiting after the call is enough
# fails: work on a device is waited for
# message: the first one too
def measure(fn, repeats):
    def once(name):
        with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
            begin = time.perf_counter_ns()
            fn()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            return time.perf_counter_ns() - begin

    names = ("grad", "no_grad", "inference_mode")
    for name in names:
        with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
            fn()
    rounds = [[once(name) for name in names] for _ in range(repeats)]
    return {name: float(statistics.median(column)) for name, column in zip(names, zip(*rounds))}
