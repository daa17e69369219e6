# misconception: the last codes count as clipped
# fails: the straight-through gradient
# fails: the ends of the range
# message: the range is closed.
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = torch.clamp(torch.round(ratio), -128, 127).to(torch.int8)
        ctx.mark_non_differentiable(codes)
        ctx.save_for_backward((ratio > -128) & (ratio < 127))
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, grad_codes):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad, 0), None
