# misconception: codes are numbers, so float will do
# fails: dtypes, and who requires a gradient
# message: The codes require a gradient.
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ratio = x / scale
        codes = ratio.round().clamp(-128, 127)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127))
        return codes * scale, codes

    @staticmethod
    def backward(ctx, grad, grad_codes):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad, 0), None
