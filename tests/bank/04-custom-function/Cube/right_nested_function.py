class Slope(torch.autograd.Function):
    """3 x² times the incoming gradient, with a backward of its own."""

    @staticmethod
    def forward(x, grad):
        return 3 * x.square() * grad

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, second):
        x, grad = ctx.saved_tensors
        return 6 * x * grad * second, 3 * x.square() * second


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.pow(3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return Slope.apply(*ctx.saved_tensors, grad)
