# misconception: what comes back is always a detached float32 tensor, whatever was packed
# fails: integers stay exact
# message: An int or bool tensor was cast.
def cast_hooks(dtype):
    return lambda tensor: tensor.detach().to(dtype), lambda kept: kept.detach().float()
