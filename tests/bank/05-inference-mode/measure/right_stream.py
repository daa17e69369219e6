import timeit


def measure(fn, repeats):
    """Waits for the current stream, and takes the median by sorting."""

    def wait():
        if torch.cuda.is_available():
            torch.cuda.current_stream().synchronize()

    def timed(name):
        outer = torch.inference_mode(mode=name == "inference_mode")
        with outer, torch.set_grad_enabled(name == "grad"):
            wait()
            start = timeit.default_timer()
            fn()
            wait()
            return timeit.default_timer() - start

    found = {"grad": [], "no_grad": [], "inference_mode": []}
    for number in range(repeats + 1):
        for name in found:
            seconds = timed(name)
            if number:
                found[name].append(seconds * 1e9)
    middle = lambda v: (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2
    return {name: middle(sorted(values)) for name, values in found.items()}
