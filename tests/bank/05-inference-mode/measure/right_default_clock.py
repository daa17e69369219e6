from time import perf_counter

MODES = {
    "grad": lambda: torch.set_grad_enabled(True),
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
}


def stopwatch(fn, now=perf_counter, wait=torch.cuda.synchronize):
    on_gpu = torch.cuda.device_count() > 0
    if on_gpu:
        wait()
    begin = now()
    fn()
    if on_gpu:
        wait()
    return (now() - begin) * 1e9


def measure(fn, repeats):
    samples = torch.empty(repeats, 3, dtype=torch.float64)
    for round_ in range(-2, repeats):
        for column, make in enumerate(MODES.values()):
            with torch.inference_mode(False), make():
                elapsed = stopwatch(fn)
            if round_ >= 0:
                samples[round_, column] = elapsed
    return dict(zip(MODES, samples.quantile(0.5, dim=0).tolist()))
