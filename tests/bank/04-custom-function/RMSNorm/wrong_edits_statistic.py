# misconception: a saved statistic belongs to the first backward
# fails: a second backward gives the same
# message: must still be there, unchanged
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        ms = x.pow(2).mean(-1, keepdim=True).add_(eps)
        ctx.save_for_backward(x, weight, ms)
        return x * torch.rsqrt(ms) * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, ms = ctx.saved_tensors
        rstd = ms.rsqrt_()
        normed = x * rstd
        h = grad * weight
        return rstd * (h - normed * (h * normed).mean(-1, keepdim=True)), (grad * normed).reshape(-1, x.shape[-1]).sum(0), None
