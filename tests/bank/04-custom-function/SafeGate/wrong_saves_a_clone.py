# misconception: a clone saved in forward may be overwritten in backward
# fails: the same gradients the second time
# message: Write only to tensors that you made.
class SafeGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate.clone(), up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        grad_up = gate * sig * grad
        return gate.mul_(1 - sig).add_(1).mul_(sig).mul_(up).mul_(grad), grad_up
