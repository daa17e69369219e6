# misconception: saving gate.data avoids a reference to the graph
# fails: an edit of gate is noticed
# message: gate was edited after the forward, and backward did not raise
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate.data, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )
