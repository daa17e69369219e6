# misconception: a matrix product is mm
# fails: no product of a block runs more often
# message: aten.addmm.default and aten.bmm.default
def save_matmuls(ctx, op, *args, **kwargs):
    if op == torch.ops.aten.mm.default:
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE
