# misconception: the incoming gradient may be cleared where the value was clipped
# fails: nothing is changed in place
# message: The incoming gradient was edited in place
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        ctx.save_for_backward((ratio < -128) | (ratio > 127))
        codes = ratio.round().clamp(-128, 127).to(torch.int8)
        ctx.mark_non_differentiable(codes)
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, _):
        (outside,) = ctx.saved_tensors
        grad[outside] = 0
        return grad, None
