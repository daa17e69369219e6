# misconception: the products of a model are its linear layers, so the products of attention need no saving
# fails: no product of a block runs more often
# fails: every kind of product is kept
# message: product
def save_matmuls(ctx, op, *args, **kwargs):
    if op in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE
