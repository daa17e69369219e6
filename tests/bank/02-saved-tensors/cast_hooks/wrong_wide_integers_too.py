# misconception: a large element size is reason enough to cast
# fails: integers stay exact
# message: An int or bool tensor was cast.
def cast_hooks(dtype):
    def pack(tensor):
        if tensor.element_size() > dtype.itemsize:
            return tensor.detach().to(dtype), tensor.dtype
        return tensor.detach(), tensor.dtype

    return pack, lambda pair: pair[0].to(pair[1])
