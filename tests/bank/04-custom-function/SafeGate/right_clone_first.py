class SafeGate(torch.autograd.Function):
    """The given chain, on a copy made before the first write."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad_output):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        grad_up = (gate * sig).mul_(grad_output)
        work = gate.detach().clone()
        return work.mul_(1 - sig).add_(1).mul_(sig).mul_(up).mul_(grad_output), grad_up
