# misconception: sum(dim=()) sums nothing
# fails: both gradients for a single row
# message: Mind that sum(dim=()) sums everything.
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
        grad_weight = (grad * n).sum(dim=tuple(range(x.dim() - 1)))
        return r * (h - n * (h * n).mean(-1, keepdim=True)), grad_weight, None
