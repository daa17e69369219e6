# misconception: only a dimension of the gradient that is larger than one can have been stretched, so leading ones may stay
# fails: a gradient that has ones itself
# message: Go by the operand's shape
def unbroadcast(grad, shape):
    new = len(sizes(grad)) - len(shape)
    full = (1,) * new + tuple(shape)
    dims = tuple(d for d, (g, n) in enumerate(zip(sizes(grad), full)) if g != n)
    if not dims:
        return grad
    return reshape(sum_over(grad, dims, keepdim=True), shape)
