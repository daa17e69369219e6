# misconception: eps is added to the root
# fails: the output in three dimensions, with a large eps
# message: eps stands under the root
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        r = 1 / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps)
        ctx.save_for_backward(x, weight, r)
        return x * r * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, r = ctx.saved_tensors
        n = x * r
        h = grad * weight
        grad_x = r * (h - n * (h * n).mean(-1, keepdim=True))
        return grad_x, (grad * n).reshape(-1, x.shape[-1]).sum(0), None
