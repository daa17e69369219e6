# misconception: the statistic is a constant in backward
# fails: gradient of x
# message: You took r for a constant.
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, r)
        return x * r * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, r = ctx.saved_tensors
        return grad * weight * r, (grad * x * r).reshape(-1, x.shape[-1]).sum(0), None
