# misconception: sums where the operand is smaller than the gradient
# fails: dimensions of size zero
# message: A sum over no elements is 0
def unbroadcast(grad, shape):
    new = len(sizes(grad)) - len(shape)
    dims = tuple(range(new)) + tuple(new + d for d, n in enumerate(shape) if n < sizes(grad)[new + d])
    return reshape(sum_over(grad, dims, keepdim=True), shape) if dims else grad
