# misconception: saving the normalized x spares a product
# fails: it saves x, weight and one element per row
# message: You saved an intermediate as large as x, or a copy of x.
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        n = x * r
        ctx.save_for_backward(n, weight, r)
        return n * weight

    @staticmethod
    def backward(ctx, grad):
        n, weight, r = ctx.saved_tensors
        h = grad * weight
        return r * (h - n * (h * n).mean(-1, keepdim=True)), (grad * n).reshape(-1, n.shape[-1]).sum(0), None
