def static_bytes(n_params, param_dtype, optimizer):
    p, full = param_dtype.itemsize, torch.float32.itemsize
    table = {"sgd": (0, 0), "sgd_momentum": (p, 0), "adam": (2 * p, 0), "adam_mixed": (2 * full, full)}
    try:
        state, master = table[optimizer]
    except KeyError:
        raise ValueError(optimizer) from None
    each = {"weights": p, "gradients": p, "optimizer_state": state, "master_weights": master}
    return {name: n_params * nbytes for name, nbytes in each.items()}
