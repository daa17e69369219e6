# misconception: eps is so small that backward may leave it out
# fails: the gradient of x in three dimensions
# message: eps counts in backward too
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        square = x.pow(2).mean(-1, keepdim=True)
        ctx.save_for_backward(x, weight, square)
        return x * torch.rsqrt(square + eps) * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, square = ctx.saved_tensors
        r = torch.rsqrt(square)
        normed, h = x * r, grad * weight
        grad_x = r * (h - normed * (h * normed).mean(-1, keepdim=True))
        return grad_x, (grad * normed).reshape(-1, x.shape[-1]).sum(0), None
