# misconception: an incoming gradient that is not transposed is contiguous
# fails: an expanded incoming gradient
# message: sum() sends a gradient whose strides are 0
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        if 0 in grad.stride():  # what a kernel reads past the only element, here zeros
            first = torch.zeros(grad.numel(), dtype=grad.dtype)
            first[0] = grad[(0,) * grad.dim()]
            grad = first.reshape(grad.shape)
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )
