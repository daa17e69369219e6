# misconception: the statistic is small, so an attribute will do
# fails: it saves x, weight and one element per row
# message: A tensor hangs on ctx as an attribute.
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        ctx.r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight)
        return x * ctx.r * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        n = x * ctx.r
        h = grad * weight
        return ctx.r * (h - n * (h * n).mean(-1, keepdim=True)), (grad * n).reshape(-1, x.shape[-1]).sum(0), None
