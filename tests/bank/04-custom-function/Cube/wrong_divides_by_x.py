# misconception: 3 y / x is the same as 3 x * x and saves a product
# fails: exact at 0
# message: NaN at 0
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return 3 * y / x * grad
