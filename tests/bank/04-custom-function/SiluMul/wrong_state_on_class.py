# misconception: what forward computed can wait on the class
# fails: two calls in one graph
# message: shared by all calls
class SiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        SiluMul.sig = torch.sigmoid(gate)
        return gate * SiluMul.sig * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = SiluMul.sig
        grad_gate = grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None
        grad_up = grad * gate * sig if ctx.needs_input_grad[1] else None
        return grad_gate, grad_up
