# misconception: whatever has another dtype is cast
# fails: what is not wider stays as it is
# message: float16 is not wider than bfloat16
def cast_hooks(dtype):
    def pack(tensor):
        if tensor.is_floating_point():
            return tensor.detach().to(dtype), tensor.dtype
        return tensor.detach(), tensor.dtype

    return pack, lambda pair: pair[0].to(pair[1])
