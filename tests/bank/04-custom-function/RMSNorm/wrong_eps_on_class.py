# misconception: eps is the same in every call
# fails: two calls in one graph
# message: shared by all calls
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        RMSNorm.eps = eps
        ms = x.pow(2).mean(-1, keepdim=True)
        ctx.save_for_backward(x, weight, ms)
        return x * torch.rsqrt(ms + eps) * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, ms = ctx.saved_tensors
        rstd = torch.rsqrt(ms + RMSNorm.eps)
        normed = x * rstd
        h = grad * weight
        return rstd * (h - normed * (h * normed).mean(-1, keepdim=True)), (grad * normed).reshape(-1, x.shape[-1]).sum(0), None
