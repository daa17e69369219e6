# misconception: what is no integer is floating
# fails: complex stays complex
# message: A complex tensor is left untouched
def cast_hooks(dtype):
    def pack(tensor):
        whole = tensor.dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
        if not whole and tensor.element_size() > dtype.itemsize:
            return tensor.detach().to(dtype), tensor.dtype
        return tensor.detach(), tensor.dtype

    return pack, lambda pair: pair[0].to(pair[1])
