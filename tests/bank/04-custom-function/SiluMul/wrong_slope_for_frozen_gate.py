# misconception: leaving out the last product is enough; the slope of a frozen gate may be computed
# fails: no work for a frozen input
# message: computed and then dropped
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        slope = sig * (1 + gate * (1 - sig))
        grad_gate = grad * up * slope if ctx.needs_input_grad[0] else None
        grad_up = grad * gate * sig if ctx.needs_input_grad[1] else None
        return grad_gate, grad_up
