# misconception: backward is faster on contiguous memory, so that is what to save
# fails: inputs are saved themselves in every dtype and layout
# message: no contiguous copy
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        gate, up = gate.contiguous(), up.contiguous()
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )
