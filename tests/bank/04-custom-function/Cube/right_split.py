class CubeSlope(torch.autograd.Function):
    """The derivative as a Function of its own, with its own backward."""

    @staticmethod
    def forward(ctx, x, grad):
        ctx.save_for_backward(x, grad)
        return 3 * x * x * grad

    @staticmethod
    def backward(ctx, second):
        x, grad = ctx.saved_tensors
        return 6 * x * grad * second, 3 * x * x * second


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return CubeSlope.apply(ctx.saved_tensors[0], grad)
