# misconception: a small number added to x keeps the division by x harmless
# fails: small values
# message: a small number added to x
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return 3 * y / (x + 1e-12) * grad
