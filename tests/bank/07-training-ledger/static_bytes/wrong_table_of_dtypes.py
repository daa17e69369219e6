# misconception: a table of dtypes knows every size
# fails: one byte per value
# message: A dtype knows its size
def static_bytes(n_params, param_dtype, optimizer):
    each = {torch.float64: 8, torch.float32: 4, torch.float16: 2, torch.bfloat16: 2}[param_dtype]
    state = {"sgd": 0, "sgd_momentum": each, "adam": 2 * each, "adam_mixed": 8}
    if optimizer not in state:
        raise ValueError(f"{optimizer!r} is not known")
    master = 4 * n_params if optimizer == "adam_mixed" else 0
    return {"weights": n_params * each, "gradients": n_params * each, "optimizer_state": n_params * state[optimizer], "master_weights": master}
