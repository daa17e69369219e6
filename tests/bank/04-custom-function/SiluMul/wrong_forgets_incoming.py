# misconception: backward returns the derivative itself
# fails: gradients for any incoming gradient
# message: Multiply both formulas by the incoming gradient
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        return (
            up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            gate * sig if ctx.needs_input_grad[1] else None,
        )
