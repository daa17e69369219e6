# misconception: rows are the first dimension
# fails: shapes outside the engine in three dimensions
# message: You summed over the first dimension only.
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
        return r * (h - n * (h * n).mean(-1, keepdim=True)), (grad * n).sum(0) if x.dim() > 1 else grad * n, None
