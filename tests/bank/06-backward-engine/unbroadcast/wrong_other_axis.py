# misconception: sums the axis that was not stretched
# fails: a dimension of size one
# message: That is the sum over the other axis
def unbroadcast(grad, shape):
    new = len(sizes(grad)) - len(shape)
    dims = tuple(range(new)) + tuple(new + d for d, n in enumerate(shape) if n != 1)
    return sum_over(grad, dims, keepdim=True) if len(sizes(grad)) == len(shape) and 1 in shape else sum_over(grad, tuple(range(new))) if new else grad
