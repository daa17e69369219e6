# misconception: values put back afterwards were never changed
# fails: version counters
# message: even if its values were put back
class SafeGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        before = gate.clone()
        grad_up = gate * sig * grad
        grad_gate = gate.mul_(1 - sig).add_(1).mul_(sig).mul_(up).mul_(grad).clone()
        gate.copy_(before)
        return grad_gate, grad_up
