# misconception: None is returned, so the work is saved
# fails: no work for a frozen input
# message: was computed and then dropped
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        found = grad * up * sig * (1 + gate * (1 - sig)), grad * gate * sig
        return tuple(g if need else None for g, need in zip(found, ctx.needs_input_grad))
