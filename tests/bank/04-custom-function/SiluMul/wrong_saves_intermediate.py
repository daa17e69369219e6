# misconception: saving the sigmoid spares work and costs nothing
# fails: it saves its two inputs and nothing else
# message: You saved a copy, an output or an intermediate.
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        sig = torch.sigmoid(gate)
        ctx.save_for_backward(gate, up, sig)
        return gate * sig * up

    @staticmethod
    def backward(ctx, grad):
        gate, up, sig = ctx.saved_tensors
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )
