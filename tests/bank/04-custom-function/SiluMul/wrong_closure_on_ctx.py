# misconception: a function on ctx keeps no tensors
# fails: it saves its two inputs and nothing else
# message: A tensor hangs on ctx
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        sig = torch.sigmoid(gate)
        ctx.slope = lambda: sig * (1 + gate * (1 - sig))
        ctx.silu = lambda: gate * sig
        return gate * sig * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        grad_gate = grad * up * ctx.slope() if ctx.needs_input_grad[0] else None
        grad_up = grad * ctx.silu() if ctx.needs_input_grad[1] else None
        return grad_gate, grad_up
