# misconception: x is saved too, so the intermediate does no harm
# fails: the second derivative in x
# fails: the second derivative elsewhere
# message: An intermediate made in forward counts as a constant
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        double = 3 * x
        ctx.save_for_backward(x, double)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        x, triple = ctx.saved_tensors
        return triple * x * grad
