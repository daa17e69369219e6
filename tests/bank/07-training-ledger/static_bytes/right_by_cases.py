def static_bytes(n_params, param_dtype, optimizer):
    size = torch.empty((), dtype=param_dtype).element_size()
    master = 0
    if optimizer == "sgd":
        state = 0
    elif optimizer == "sgd_momentum":
        state = n_params * size
    elif optimizer == "adam":
        state = 2 * n_params * size
    elif optimizer == "adam_mixed":
        state, master = 2 * n_params * 4, n_params * 4
    else:
        raise ValueError(f"unknown optimizer {optimizer}")
    return dict(weights=n_params * size, gradients=n_params * size, optimizer_state=state, master_weights=master)
