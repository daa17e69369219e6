# misconception: a policy answers yes or no
# fails: a matrix product is kept
# message: A CheckpointPolicy is asked here
def save_matmuls(ctx, op, *args, **kwargs):
    name = op.overloadpacket.__name__
    return name in ("mm", "addmm", "bmm", "baddbmm") or name.startswith("_scaled_dot_product_")
