# misconception: hands back a gradient without elements as it is
# fails: dimensions of size zero
# message: A sum over no elements is 0
def unbroadcast(grad, shape):
    if grad.numel() == 0:
        return grad
    new = len(sizes(grad)) - len(shape)
    stretched = tuple(new + d for d, n in enumerate(shape) if n == 1)
    dims = tuple(range(new)) + stretched
    if not dims:
        return grad
    return reshape(sum_over(grad, dims, keepdim=True), shape)
