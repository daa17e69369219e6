class SiluMul(torch.autograd.Function):
    """Recomputes the forward under grad mode and lets autograd differentiate it, for the inputs that need it."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return torch.nn.functional.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        inputs = [t.detach().requires_grad_(need) for t, need in zip(ctx.saved_tensors, ctx.needs_input_grad)]
        with torch.enable_grad():
            out = torch.nn.functional.silu(inputs[0]) * inputs[1]
        found = iter(torch.autograd.grad(out, [t for t in inputs if t.requires_grad], grad))
        return tuple(next(found) if t.requires_grad else None for t in inputs)
