# misconception: backward returns the derivative itself
# fails: the gradient
# fails: the gradient elsewhere
# message: 3 x² times the incoming gradient
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x + 0 * grad
