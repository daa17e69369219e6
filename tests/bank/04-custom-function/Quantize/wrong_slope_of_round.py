# misconception: the gradient of rounding is zero
# fails: the straight-through gradient
# message: Rounding has slope 0
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
        return torch.zeros_like(grad), None
