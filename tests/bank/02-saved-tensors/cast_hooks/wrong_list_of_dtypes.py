# misconception: wide floating dtypes are float32 and float64
# fails: half the bytes of float16
# message: do not list dtypes
def cast_hooks(dtype):
    def pack(tensor):
        wide = tensor.dtype == torch.float64 or (tensor.dtype == torch.float32 and dtype not in (torch.float32, torch.float64))
        return (tensor.detach().to(dtype) if wide and dtype != torch.float64 else tensor.detach()), tensor.dtype

    return pack, lambda packed: packed[0].to(packed[1])
