# misconception: the incoming gradient may be used as scratch memory
# fails: nothing is changed in place
# message: The incoming gradient was edited in place
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, rstd = ctx.saved_tensors
        normed = x * rstd
        grad_weight = (grad * normed).reshape(-1, x.shape[-1]).sum(0)
        h = grad.mul_(weight)
        return rstd * (h - normed * (h * normed).mean(-1, keepdim=True)), grad_weight, None
