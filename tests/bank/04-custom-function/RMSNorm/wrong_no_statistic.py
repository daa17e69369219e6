# misconception: everything should be recomputed
# fails: it saves x, weight and one element per row
# message: The statistic is not saved
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + ctx.eps)
        n = x * r
        h = grad * weight
        return r * (h - n * (h * n).mean(-1, keepdim=True)), (grad * n).reshape(-1, x.shape[-1]).sum(0), None
