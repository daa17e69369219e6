import time

import numpy as np


def measure(fn, repeats):
    """One table of times, a row per round; the first row is the untimed one."""
    names = ["grad", "no_grad", "inference_mode"]
    table = np.zeros((repeats + 1, 3))
    with torch.inference_mode(False):
        for row in range(repeats + 1):
            for column, name in enumerate(names):
                mode = torch.inference_mode() if name == "inference_mode" else torch.set_grad_enabled(name == "grad")
                with mode:
                    begin = time.perf_counter_ns()
                    fn()
                    if torch.cuda.is_available():
                        torch.cuda.synchronize()
                    table[row, column] = time.perf_counter_ns() - begin
    return dict(zip(names, np.median(table[1:], axis=0).tolist()))
