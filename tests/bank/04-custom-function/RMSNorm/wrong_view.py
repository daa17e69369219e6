# misconception: x lies row by row in memory
# fails: transposed x and incoming gradient
# message: reshape does not
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rows = x.view(-1, x.shape[-1])
        rstd = torch.rsqrt(rows.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return (rows * rstd * weight).view(x.shape)

    @staticmethod
    def backward(ctx, grad):
        x, weight, rstd = ctx.saved_tensors
        rows, grad = x.view(-1, x.shape[-1]), grad.view(-1, x.shape[-1])
        normed = rows * rstd
        h = grad * weight
        return (rstd * (h - normed * (h * normed).mean(-1, keepdim=True))).view(x.shape), (grad * normed).sum(0), None
