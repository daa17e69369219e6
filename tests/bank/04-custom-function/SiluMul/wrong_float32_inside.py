# misconception: gradcheck in float32 passed, so float32 inside is enough
# fails: gradients for any incoming gradient
# message: compute in the dtype of the inputs
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return (torch.nn.functional.silu(gate.float()) * up).to(gate.dtype)

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate.float()).to(gate.dtype)
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )
