# misconception: summed dimensions of size one are dropped
# fails: a dimension of size one
# message: the dimension of size one is gone
def unbroadcast(grad, shape):
    new = len(sizes(grad)) - len(shape)
    dims = tuple(range(new)) + tuple(new + d for d, n in enumerate(shape) if n == 1)
    return sum_over(grad, dims) if dims else grad
