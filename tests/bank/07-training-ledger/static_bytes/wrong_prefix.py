# misconception: whatever begins with adam is adam
# fails: a name that only begins like one
# message: exactly one of the four
def static_bytes(n_params, param_dtype, optimizer):
    each = param_dtype.itemsize
    if optimizer == "adam_mixed":
        state, master = 8, 4
    elif optimizer.lower().startswith("adam"):
        state, master = 2 * each, 0
    elif optimizer.startswith("sgd"):
        state, master = each if "momentum" in optimizer else 0, 0
    else:
        raise ValueError(optimizer)
    return {"weights": n_params * each, "gradients": n_params * each, "optimizer_state": n_params * state, "master_weights": n_params * master}
