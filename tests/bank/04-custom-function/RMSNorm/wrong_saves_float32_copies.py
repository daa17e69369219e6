# misconception: half inputs are widened once, and the wide copies saved
# fails: half types and transposed rows are saved themselves
# message: no float32 copy
class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        ctx.dtype = x.dtype
        if x.dtype in (torch.float16, torch.bfloat16):
            x, weight = x.float(), weight.float()
        r = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, r)
        return (x * r * weight).to(ctx.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, weight, r = ctx.saved_tensors
        normed, h = x * r, grad * weight
        grad_x = r * (h - normed * (h * normed).mean(-1, keepdim=True))
        grad_weight = (grad * normed).reshape(-1, x.shape[-1]).sum(0)
        return grad_x.to(ctx.dtype), grad_weight.to(ctx.dtype), None
