# misconception: the chain rule divides by scale
# fails: the straight-through gradient
# message: The scale cancels
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = ratio.round().clamp(-128, 127).to(torch.int8)
        ctx.scale = float(scale)
        ctx.mark_non_differentiable(codes)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127))
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, grad_codes):
        (inside,) = ctx.saved_tensors
        return grad * inside / ctx.scale, None
