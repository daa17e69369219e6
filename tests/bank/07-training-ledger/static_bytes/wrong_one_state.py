# misconception: Adam keeps one value per parameter
# fails: adam in float32
# message: Adam keeps two values per parameter
def static_bytes(n_params, param_dtype, optimizer):
    each = param_dtype.itemsize
    state = {"sgd": 0, "sgd_momentum": each, "adam": each, "adam_mixed": 4}
    if optimizer not in state:
        raise ValueError(optimizer)
    return {
        "weights": n_params * each,
        "gradients": n_params * each,
        "optimizer_state": n_params * state[optimizer],
        "master_weights": n_params * 4 if optimizer == 'adam_mixed' else 0,
    }
