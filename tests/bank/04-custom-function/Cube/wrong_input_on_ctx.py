# misconception: an attribute on ctx keeps an input as well as save_for_backward
# fails: an edit of x is noticed
# message: by save_for_backward
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return 3 * ctx.x * ctx.x * grad
