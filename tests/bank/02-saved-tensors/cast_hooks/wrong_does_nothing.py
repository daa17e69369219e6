# misconception: returning the tensor in the same dtype is good enough
# fails: the gradient of exp, kept in float16
# message: the tensor was kept as it was
def cast_hooks(dtype):
    return lambda tensor: tensor.detach(), lambda tensor: tensor
