# misconception: through .data autograd sees no edit, so there is none
# fails: what the caller sees afterwards
# message: `.data` hides an edit from the version counter
class SafeGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        grad_up = gate * sig * grad
        return gate.data.mul_(1 - sig).add_(1).mul_(sig).mul_(up).mul_(grad).clone(), grad_up
