class Quantize(torch.autograd.Function):
    """PyTorch's fake quantization for the values; x and scale kept instead of a mask."""

    @staticmethod
    def forward(x, scale):
        codes = torch.clip(torch.round(x / scale), -128.0, 127.0)
        return codes.mul(scale).type_as(x), codes.char()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale = inputs[0], float(inputs[1])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad, _):
        if grad is None:
            return None, None
        (x,) = ctx.saved_tensors
        ratio = x / ctx.scale
        return grad.masked_fill((ratio < -128) | (ratio > 127), 0), None
