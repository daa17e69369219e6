# misconception: the same gradients on every call means: computed once
# fails: another incoming gradient the second time
# message: Compute it anew
class SafeGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        ctx.done = None
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.done is None:
            gate, up = ctx.saved_tensors
            sig = torch.sigmoid(gate)
            ctx.done = grad_output * up * sig * (1 + gate * (1 - sig)), grad_output * gate * sig
        return ctx.done
