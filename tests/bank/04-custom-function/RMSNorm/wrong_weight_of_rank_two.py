# misconception: the weight's gradient may keep the leading dimensions with size one
# fails: shapes of the gradients outside the engine
# message: leading dimensions of size one
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, r)
        return x * r * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, r = ctx.saved_tensors
        normed, h = x * r, grad * weight
        grad_x = r * (h - normed * (h * normed).mean(-1, keepdim=True))
        grad_w = grad * normed
        for d in range(x.dim() - 1):
            grad_w = grad_w.sum(d, keepdim=True)
        return grad_x, grad_w, None
