# misconception: the incoming gradient belongs to backward
# fails: nothing is changed in place
# message: The incoming gradient was edited in place.
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        grad_gate = grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None
        return grad_gate, grad.mul_(gate * sig) if ctx.needs_input_grad[1] else None
