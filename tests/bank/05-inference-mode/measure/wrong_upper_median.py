# misconception: the middle of the sorted list is the median for even counts too
# fails: the median of an even number
# message: halfway between the two in the middle
def measure(fn, repeats):
    times = {"grad": [], "no_grad": [], "inference_mode": []}
    for number in range(repeats + 1):
        for name in times:
            with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
                begin = time.perf_counter_ns()
                fn()
                if torch.cuda.is_available():
                    torch.cuda.synchronize()
                if number:
                    times[name].append(time.perf_counter_ns() - begin)
    return {name: float(sorted(values)[len(values) // 2]) for name, values in times.items()}
