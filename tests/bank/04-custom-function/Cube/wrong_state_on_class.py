# misconception: x can wait on the class
# fails: two calls in one graph
# message: shared by all calls
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        Cube.x = x
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        return 3 * Cube.x * Cube.x * grad
