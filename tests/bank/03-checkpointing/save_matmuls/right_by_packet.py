import re


def save_matmuls(ctx, op, *args, **kwargs) -> CheckpointPolicy:
    aten = torch.ops.aten
    keep = op.overloadpacket in (aten.mm, aten.addmm, aten.bmm, aten.baddbmm)
    keep = keep or re.match(r"aten::_scaled_dot_product_\w*attention", op.name()) is not None
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE
