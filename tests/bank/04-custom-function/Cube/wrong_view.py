# misconception: every tensor can be viewed as a flat one
# fails: transposed x and incoming gradient
# message: may have any strides
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.view(-1).pow(3).view(x.shape)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        flat = x.view(-1)
        return (3 * flat * flat * grad.reshape(-1)).view(x.shape)
