def cast_hooks(dtype):
    def pack(tensor):
        wider = tensor.dtype.is_floating_point and tensor.dtype.itemsize > dtype.itemsize
        return (tensor.to(dtype) if wider else tensor), tensor.dtype

    def unpack(pair):
        kept, original = pair
        return kept if kept.dtype == original else kept.to(original)

    return pack, unpack
