# misconception: int8 times a float has x's dtype
# fails: dtypes, and who requires a gradient
# message: The dequantized values have x's dtype.
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = torch.clamp(torch.round(ratio), -128, 127).to(torch.int8)
        ctx.mark_non_differentiable(codes)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127))
        return codes * scale, codes

    @staticmethod
    def backward(ctx, grad, grad_codes):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad, 0), None
