# misconception: summed with keepdim and never reshaped
# fails: a new leading dimension
# message: a leading dimension of size one is still there
def unbroadcast(grad, shape):
    new = len(sizes(grad)) - len(shape)
    dims = tuple(range(new)) + tuple(new + d for d, n in enumerate(shape) if n == 1)
    return sum_over(grad, dims, keepdim=True) if dims else grad
