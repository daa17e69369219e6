def static_bytes(n_params, param_dtype, optimizer):
    size = torch.empty((), dtype=param_dtype).element_size()
    match optimizer:
        case "sgd":
            state, master = 0, 0
        case "sgd_momentum":
            state, master = size, 0
        case "adam":
            state, master = 2 * size, 0
        case "adam_mixed":
            state, master = 2 * 4, 4
        case other:
            raise ValueError(f"unknown optimizer: {other}")
    each = {"weights": size, "gradients": size, "optimizer_state": state, "master_weights": master}
    return {name: n_params * count for name, count in each.items()}
