# misconception: an unknown optimizer costs nothing
# fails: an optimizer nobody knows
# message: Raise ValueError
def static_bytes(n_params, param_dtype, optimizer):
    each = param_dtype.itemsize
    state = {"sgd": 0, "sgd_momentum": each, "adam": 2 * each, "adam_mixed": 8}
    return {
        "weights": n_params * each,
        "gradients": n_params * each,
        "optimizer_state": n_params * state.get(optimizer, 0),
        "master_weights": n_params * 4 if optimizer == 'adam_mixed' else 0,
    }
