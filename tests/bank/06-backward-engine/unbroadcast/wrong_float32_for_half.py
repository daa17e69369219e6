# misconception: sums halves in float32 and leaves them so
# fails: in half precision
# message: the dtype of the gradient
def unbroadcast(grad, shape):
    grad = grad.float() if grad.dtype == torch.float16 else grad
    new = len(sizes(grad)) - len(shape)
    stretched = tuple(new + d for d, n in enumerate(shape) if n == 1)
    dims = tuple(range(new)) + stretched
    if not dims:
        return grad
    return reshape(sum_over(grad, dims, keepdim=True), shape)
