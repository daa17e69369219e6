# misconception: adding a half and cutting off is rounding
# fails: halves go to the even code
# message: torch.round
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = torch.floor(ratio + 0.5).clamp(-128, 127).to(torch.int8)
        ctx.mark_non_differentiable(codes)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127))
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0], None
