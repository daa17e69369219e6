# misconception: x * (1 / scale) is x / scale
# fails: halves at a scale that is no power of two
# message: Divide by scale
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        inverse = 1.0 / scale
        ctx.save_for_backward(x)
        ctx.inverse = float(inverse)
        codes = (x * inverse).round().clamp(-128, 127).to(torch.int8)
        ctx.mark_non_differentiable(codes)
        return (codes.to(x.dtype) * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, _):
        (x,) = ctx.saved_tensors
        ratio = x * ctx.inverse
        return grad * ((ratio >= -128) & (ratio <= 127)), None
