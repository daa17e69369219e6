# misconception: int8 saturates by itself
# fails: the codes
# message: The cast wrapped around.
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = ratio.round().to(torch.int64).to(torch.int8).clamp(-128, 127)
        ctx.mark_non_differentiable(codes)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127))
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, grad_codes):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad, 0), None
