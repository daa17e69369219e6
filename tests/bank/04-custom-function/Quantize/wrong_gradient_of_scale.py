# misconception: a tensor argument gets a gradient
# fails: scale gets None
# message: The gradient of scale is None
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = ratio.round().clamp(-128, 127).to(torch.int8)
        ctx.mark_non_differentiable(codes)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127), codes)
        return (codes * scale).to(x.dtype), codes

    @staticmethod
    def backward(ctx, grad, grad_codes):
        inside, codes = ctx.saved_tensors
        return grad * inside, (grad * codes).sum() if ctx.needs_input_grad[1] else None
