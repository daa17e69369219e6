# misconception: ctx is an object, so tensors can hang on it
# fails: it saves its two inputs and nothing else
# message: A tensor hangs on ctx as an attribute.
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.gate, ctx.up = gate, up
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.gate, ctx.up
        sig = torch.sigmoid(gate)
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )
