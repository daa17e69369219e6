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
        grad_x = None
        if ctx.needs_input_grad[0]:
            grad_x = (h - n * (h * n).mean(-1, keepdim=True)) * r
        grad_weight = torch.einsum("...d,...d->d", grad, n) if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight, None
