# misconception: x ** 3 is exp(3 log x)
# fails: the output is x ** 3
# message: x ** 3, below 0 too.
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (3 * x.log()).exp()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x.pow(2) * grad
