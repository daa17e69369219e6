# misconception: the output is kept anyway, so saving it is free
# fails: it saves its two inputs and nothing else
# message: You saved a copy, an output or an intermediate.
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        out = torch.nn.functional.silu(gate) * up
        ctx.save_for_backward(gate, up, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        gate, up, out = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )
