# misconception: through .data an edit does no harm
# fails: nothing is changed in place
# message: Values changed although no version counter moved
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        grad_up = grad * gate * sig if ctx.needs_input_grad[1] else None
        if not ctx.needs_input_grad[0]:
            return None, grad_up
        return gate.data.mul_(1 - sig).add_(1).mul_(sig).mul_(up).mul_(grad).clone(), grad_up
