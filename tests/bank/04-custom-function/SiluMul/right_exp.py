class SiluMul(torch.autograd.Function):
    """The sigmoid spelled out, in place on memory of its own; what two gradients share is computed once."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return gate / (1 + torch.exp(-gate)) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        assert grad.shape == gate.shape and not torch.isnan(gate).any()
        sig = torch.neg(gate).exp_().add_(1).reciprocal_()
        silu = gate * sig
        if not ctx.needs_input_grad[0]:
            return None, silu.mul_(grad)
        slope = torch.addcmul(sig, silu, 1 - sig).mul_(up).mul_(grad)
        return slope, silu.mul_(grad) if ctx.needs_input_grad[1] else None
