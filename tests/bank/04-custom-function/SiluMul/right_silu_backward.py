class SiluMul(torch.autograd.Function):
    """PyTorch's own gradient of silu, and None for outputs nobody used."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(up, gate)
        return torch.nn.functional.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx, *grads):
        (grad,) = grads
        if grad is None:
            return None, None
        up, gate = ctx.saved_tensors
        grads = [None, None]
        if ctx.needs_input_grad[0]:
            grads[0] = torch.ops.aten.silu_backward(grad * up, gate)
        if ctx.needs_input_grad[1]:
            grads[1] = grad * torch.nn.functional.silu(gate)
        return tuple(grads)
