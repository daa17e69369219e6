# misconception: then the incoming gradient can take the result
# fails: version counters
# message: The incoming gradient was edited in place.
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
        return grad.mul_(up).mul_(sig).mul_(1 + gate * (1 - sig)), grad_up
