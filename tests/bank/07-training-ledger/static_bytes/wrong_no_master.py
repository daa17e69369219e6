# misconception: forgets the master weights
# fails: mixed precision
# message: float32 master copy
def static_bytes(n_params, param_dtype, optimizer):
    each = param_dtype.itemsize
    state = {"sgd": 0, "sgd_momentum": each, "adam": 2 * each, "adam_mixed": 8}
    if optimizer not in state:
        raise ValueError(optimizer)
    return {
        "weights": n_params * each,
        "gradients": n_params * each,
        "optimizer_state": n_params * state[optimizer],
        "master_weights": 0,
    }
