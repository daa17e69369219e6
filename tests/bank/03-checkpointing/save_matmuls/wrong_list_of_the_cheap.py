# misconception: lists what is cheap and keeps everything else
# fails: dropout, activations, copies and look-ups too
# message: Something that is no matrix product is kept
def save_matmuls(ctx, op, *args, **kwargs):
    name = op.overloadpacket.__name__
    cheap = {"add", "mul", "gelu", "_softmax", "native_layer_norm", "t", "view", "transpose", "sum", "lgamma", "relu", "exp", "sub", "detach", "expand", "slice"}
    return CheckpointPolicy.PREFER_RECOMPUTE if name in cheap else CheckpointPolicy.MUST_SAVE
