# misconception: straight-through means that every gradient passes
# fails: the straight-through gradient
# message: The gradient passes where the value was clipped.
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = torch.clamp(torch.round(ratio), -128, 127).to(torch.int8)
        ctx.mark_non_differentiable(codes)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127))
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, grad_codes):
        return grad, None
