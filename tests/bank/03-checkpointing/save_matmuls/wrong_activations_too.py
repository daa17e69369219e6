# misconception: keeps activations as well
# fails: dropout, activations, copies and look-ups too
# message: Something that is no matrix product is kept
def save_matmuls(ctx, op, *args, **kwargs):
    name = op.overloadpacket.__name__
    attention = name.startswith("_scaled_dot_product_") and "attention" in name
    if attention or name in ("mm", "addmm", "bmm", "baddbmm", "tanh", "sigmoid", "silu"):
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE
