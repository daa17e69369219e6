# misconception: gradients are float32 in mixed precision
# fails: mixed precision
# message: Gradients have the dtype of the parameters
def static_bytes(n_params, param_dtype, optimizer):
    each = param_dtype.itemsize
    state = {"sgd": 0, "sgd_momentum": each, "adam": 2 * each, "adam_mixed": 8}
    if optimizer not in state:
        raise ValueError(optimizer)
    return {
        "weights": n_params * each,
        "gradients": n_params * 4,
        "optimizer_state": n_params * state[optimizer],
        "master_weights": n_params * 4 if optimizer == 'adam_mixed' else 0,
    }
