class RMSNorm(torch.autograd.Function):
    """The mean square is saved without its last dimension; gradients by vecdot-like sums, only where needed."""

    @staticmethod
    def forward(ctx, x, weight, eps):
        square = torch.linalg.vector_norm(x, dim=-1).square() / x.size(-1)
        ctx.eps = eps
        ctx.save_for_backward(square, x, weight)
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, eps)

    @staticmethod
    def backward(ctx, grad):
        square, x, weight = ctx.saved_tensors
        r = (square + ctx.eps).pow(-0.5)[..., None]
        grad_x = grad_w = None
        if ctx.needs_input_grad[1]:
            grad_w = (grad * x * r).sum_to_size(weight.shape)
        if ctx.needs_input_grad[0]:
            h = grad * weight
            grad_x = torch.addcmul(h * r, x, r.pow(3) * torch.linalg.vecdot(h, x)[..., None], value=-1 / x.shape[-1])
        return grad_x, grad_w, None
