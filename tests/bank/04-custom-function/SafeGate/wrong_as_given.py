# misconception: the first gradient is right, so the code is
# fails: the same gradients the second time
# message: the saved gate was edited in place
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
        return gate.mul_(1 - sig).add_(1).mul_(sig).mul_(up).mul_(grad), grad_up
