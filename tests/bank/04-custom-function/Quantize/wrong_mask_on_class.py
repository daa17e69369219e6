# misconception: the mask can wait on the class
# fails: two calls in one graph
# message: shared by all calls
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        Quantize.inside = (ratio >= -128) & (ratio <= 127)
        codes = ratio.round().clamp(-128, 127).to(torch.int8)
        ctx.mark_non_differentiable(codes)
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, _):
        return grad * Quantize.inside, None
