# misconception: keeping the original beside the copy is a safe way to remember its dtype
# fails: half the bytes are kept
# message: Let the original go.
def cast_hooks(dtype):
    def pack(tensor):
        if tensor.is_floating_point() and tensor.element_size() > dtype.itemsize:
            return tensor.detach().to(dtype), tensor
        return tensor.detach(), tensor

    return pack, lambda pair: pair[0].to(pair[1].dtype)
