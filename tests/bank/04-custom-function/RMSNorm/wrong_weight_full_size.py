# misconception: the engine sums the weight's gradient, so backward need not
# fails: shapes of the gradients outside the engine
# message: The weight's gradient has the output's shape.
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, r)
        return x * r * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, r = ctx.saved_tensors
        n = x * r
        h = grad * weight
        return r * (h - n * (h * n).mean(-1, keepdim=True)), grad * n, None
