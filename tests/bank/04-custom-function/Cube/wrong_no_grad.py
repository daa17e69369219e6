# misconception: backward should run without recording, as inference does
# fails: the second derivative in x
# message: The first gradient has no graph
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            return 3 * x * x * grad
