# misconception: fused attention is no matrix product
# fails: fused attention is kept
# message: hold two products each
def save_matmuls(ctx, op, *args, **kwargs):
    aten = torch.ops.aten
    keep = {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default}
    return CheckpointPolicy.MUST_SAVE if op in keep else CheckpointPolicy.PREFER_RECOMPUTE
