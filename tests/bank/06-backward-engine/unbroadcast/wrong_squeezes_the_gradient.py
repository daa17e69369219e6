# misconception: takes a size of one in the gradient for broadcasting
# fails: a gradient that has ones itself
# message: no sign of broadcasting
def unbroadcast(grad, shape):
    grad = reshape(grad, tuple(n for n in sizes(grad) if n != 1))
    new = max(0, len(sizes(grad)) - len(shape))
    dims = tuple(range(new)) + tuple(new + d for d, n in enumerate(shape) if n == 1)
    return reshape(sum_over(grad, dims, True), shape) if dims else reshape(grad, shape)
