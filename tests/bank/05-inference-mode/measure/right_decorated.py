from time import monotonic_ns as now


@torch.inference_mode(False)
def measure(fn, repeats):
    """A decorator leaves the caller's inference mode; each mode is a decorated function."""
    run = {
        "grad": torch.enable_grad()(lambda: fn()),
        "no_grad": torch.no_grad()(lambda: fn()),
        "inference_mode": torch.inference_mode()(lambda: fn()),
    }
    synchronize = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    for call in run.values():
        call()
    times = []
    for _ in range(repeats):
        row = []
        for call in run.values():
            synchronize()
            begin = now()
            call()
            synchronize()
            row.append(now() - begin)
        times.append(row)
    return dict(zip(run, np_median(times)))


def np_median(rows):
    import numpy

    return [float(value) for value in numpy.median(numpy.array(rows), axis=0)]
