# misconception: exp(g) / (1 + exp(g)) is the sigmoid everywhere
# fails: large gates
# message: torch.sigmoid has no such limit
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        e = torch.exp(gate)
        return gate * e / (1 + e) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        e = torch.exp(gate)
        sig = e / (1 + e)
        grad_gate = grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None
        grad_up = grad * gate * sig if ctx.needs_input_grad[1] else None
        return grad_gate, grad_up
