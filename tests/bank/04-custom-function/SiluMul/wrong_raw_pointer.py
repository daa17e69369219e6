# misconception: a kernel may read the incoming gradient from its pointer on
# fails: a transposed incoming gradient
# message: The incoming gradient may have any strides.
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        flat = torch.empty(0, dtype=grad.dtype).set_(grad.untyped_storage())
        grad = flat[(grad.storage_offset() + torch.arange(grad.numel())) % flat.numel()].reshape(grad.shape)
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )
