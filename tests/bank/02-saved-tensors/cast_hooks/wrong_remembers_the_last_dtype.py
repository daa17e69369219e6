# misconception: one variable for the dtype is enough
# fails: tensors of several dtypes in turn
# message: One variable for all remembers only the last.
def cast_hooks(dtype):
    last = [torch.float32]

    def pack(tensor):
        last[0] = tensor.dtype
        if tensor.is_floating_point() and tensor.element_size() > dtype.itemsize:
            return tensor.detach().to(dtype)
        return tensor.detach()

    return pack, lambda kept: kept.to(last[0])
