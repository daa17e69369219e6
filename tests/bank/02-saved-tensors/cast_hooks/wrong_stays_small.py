# misconception: autograd converts what unpack returns
# fails: the dtype comes back
# message: not the small one
def cast_hooks(dtype):
    def pack(tensor):
        if tensor.is_floating_point() and tensor.element_size() > dtype.itemsize:
            return tensor.detach().to(dtype)
        return tensor.detach()

    return pack, lambda kept: kept
