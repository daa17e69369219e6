forwards = {case: runs(case) for case in ("plain", "checkpoint", "nested", "no_backward")}
