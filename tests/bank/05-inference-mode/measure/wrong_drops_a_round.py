# misconception: the first of the rounds can serve as the warm-up
# fails: an untimed call in every mode first
# message: The first call in a mode is timed
def measure(fn, repeats):
    times = {"grad": [], "no_grad": [], "inference_mode": []}
    for number in range(repeats):
        for name in times:
            with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
                begin = time.perf_counter_ns()
                fn()
                if torch.cuda.is_available():
                    torch.cuda.synchronize()
                if number or repeats == 1:
                    times[name].append(time.perf_counter_ns() - begin)
    return {name: float(statistics.median(values)) for name, values in times.items()}
