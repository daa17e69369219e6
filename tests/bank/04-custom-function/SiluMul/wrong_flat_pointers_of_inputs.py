# misconception: inputs lie row by row in memory
# fails: transposed inputs
# message: The inputs may have any strides
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = (t.as_strided((t.numel(),), (1,), t.storage_offset()) for t in ctx.saved_tensors)
        shape, grad = grad.shape, grad.reshape(-1)
        sig = torch.sigmoid(gate)
        grad_gate = (grad * up * sig * (1 + gate * (1 - sig))).view(shape) if ctx.needs_input_grad[0] else None
        grad_up = (grad * gate * sig).view(shape) if ctx.needs_input_grad[1] else None
        return grad_gate, grad_up
