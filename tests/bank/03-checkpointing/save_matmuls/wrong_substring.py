# misconception: mm in the name means a matrix product
# fails: the rest is recomputed
# message: lgamma has an mm in it too
def save_matmuls(ctx, op, *args, **kwargs):
    if "mm" in str(op) or "_scaled_dot_product" in str(op):
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE
