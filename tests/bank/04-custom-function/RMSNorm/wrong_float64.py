# misconception: more digits do no harm
# fails: float32 stays float32
# message: has the dtype of x
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rstd = torch.rsqrt(x.double().pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, rstd = ctx.saved_tensors
        normed = x * rstd
        h = grad * weight
        return rstd * (h - normed * (h * normed).mean(-1, keepdim=True)), (grad * normed).reshape(-1, x.shape[-1]).sum(0), None
