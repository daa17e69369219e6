# misconception: what was computed with is what backward needs, float32 copies of half inputs too
# fails: float16 and transposed inputs are saved themselves
# message: What was saved is not the tensor that you were given.
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.dtype = gate.dtype
        if gate.dtype in (torch.float16, torch.bfloat16):
            gate, up = gate.float(), up.float()
        ctx.save_for_backward(gate, up)
        return (F.silu(gate) * up).to(ctx.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        return (
            (grad * up * sig * (1 + gate * (1 - sig))).to(ctx.dtype) if ctx.needs_input_grad[0] else None,
            (grad * gate * sig).to(ctx.dtype) if ctx.needs_input_grad[1] else None,
        )
