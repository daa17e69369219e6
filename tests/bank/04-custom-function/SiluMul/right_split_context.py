class SiluMul(torch.autograd.Function):
    """The style that torch.func wants, with PyTorch's own derivative of silu."""

    @staticmethod
    def forward(gate, up):
        return gate * torch.sigmoid(gate) * up

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*reversed(inputs))

    @staticmethod
    def backward(ctx, grad):
        up, gate = ctx.saved_tensors
        grad_gate = grad_up = None
        if ctx.needs_input_grad[1]:
            grad_up = torch.nn.functional.silu(gate).mul_(grad)
        if ctx.needs_input_grad[0]:
            grad_gate = torch.ops.aten.silu_backward(grad * up, gate)
        return grad_gate, grad_up
