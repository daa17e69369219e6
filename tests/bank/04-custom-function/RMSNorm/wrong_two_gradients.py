# misconception: eps is no tensor, so it has no place in what backward returns
# fails: shapes of the gradients outside the engine
# message: One gradient per argument
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
        return r * (h - n * (h * n).mean(-1, keepdim=True)), (grad * n).reshape(-1, x.shape[-1]).sum(0)
