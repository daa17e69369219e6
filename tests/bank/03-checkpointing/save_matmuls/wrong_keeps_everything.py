# misconception: keeping more is never wrong
# fails: an exponential is recomputed
# fails: the rest is recomputed
# message: A policy that keeps everything saves no memory.
def save_matmuls(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE
