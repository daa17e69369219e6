# misconception: set_grad_enabled(True) at the end restores the mode
# fails: the caller's mode is restored
# message: After measure the caller is in another mode
import statistics
import time


def measure(fn, repeats):
    times = {"grad": [], "no_grad": [], "inference_mode": []}
    for number in range(repeats + 1):
        for name, values in times.items():
            torch.set_grad_enabled(name == "grad")
            with torch.inference_mode(name == "inference_mode"):
                if name == "no_grad":
                    torch.set_grad_enabled(False)
                begin = time.perf_counter_ns()
                fn()
                if torch.cuda.is_available():
                    torch.cuda.synchronize()
                if number:
                    values.append(time.perf_counter_ns() - begin)
    torch.set_grad_enabled(True)
    return {name: float(statistics.median(values)) for name, values in times.items()}
