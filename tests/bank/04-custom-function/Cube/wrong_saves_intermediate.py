# misconception: an intermediate of forward can be saved like an input
# fails: the second derivative in x
# fails: the second derivative elsewhere
# message: The gradient has no path back to x
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    @staticmethod
    def backward(ctx, grad):
        (square,) = ctx.saved_tensors
        return 3 * square * grad
