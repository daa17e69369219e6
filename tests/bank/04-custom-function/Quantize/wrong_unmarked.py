# misconception: integer outputs need no mark, so the promise to mark them may be dropped
# fails: the codes are marked
# message: ctx.mark_non_differentiable(codes)
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = ratio.round().clamp(-128, 127).to(torch.int8)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127))
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0], None
