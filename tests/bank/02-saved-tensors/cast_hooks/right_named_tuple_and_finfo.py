from typing import NamedTuple


class Kept(NamedTuple):
    tensor: torch.Tensor
    back_to: torch.dtype | None


def cast_hooks(dtype):
    limit = torch.finfo(dtype).bits

    def pack(tensor):
        if not torch.is_floating_point(tensor) or torch.finfo(tensor.dtype).bits <= limit:
            return Kept(tensor.detach(), None)
        return Kept(tensor.type(dtype), tensor.dtype)

    def unpack(kept):
        return kept.tensor if kept.back_to is None else kept.tensor.type(kept.back_to)

    return pack, unpack
