# misconception: in recomputation everything has to be recomputed
# fails: the same answer when recomputing
# message: The answer must not depend on ctx.is_recompute
def save_matmuls(ctx, op, *args, **kwargs):
    name = op.overloadpacket.__name__
    keep = name in ("mm", "addmm", "bmm", "baddbmm") or (name.startswith("_scaled_dot_product_") and "attention" in name)
    if keep and not ctx.is_recompute:
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE
