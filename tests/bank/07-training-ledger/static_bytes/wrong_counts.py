# misconception: counts elements
# fails: adam in float32
# message: multiply by the element size
def static_bytes(n_params, param_dtype, optimizer):
    each = 1
    state = {"sgd": 0, "sgd_momentum": each, "adam": 2, "adam_mixed": 2}
    if optimizer not in state:
        raise ValueError(optimizer)
    return {
        "weights": n_params * each,
        "gradients": n_params * 1,
        "optimizer_state": n_params * state[optimizer],
        "master_weights": n_params if optimizer == 'adam_mixed' else 0,
    }
