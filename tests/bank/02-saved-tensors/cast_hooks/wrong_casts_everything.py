# misconception: every saved tensor is floating
# fails: integers stay exact
# message: An int or bool tensor was cast.
def cast_hooks(dtype):
    return lambda tensor: (tensor.detach().to(dtype), tensor.dtype), lambda pair: pair[0].to(pair[1])
