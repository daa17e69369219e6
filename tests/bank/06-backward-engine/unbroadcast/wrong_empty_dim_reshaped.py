# misconception: sum over no dimension is taken for no sum, and the one number is reshaped
# fails: shapes that agree
# message: If your dims were empty, sum_over with dim=() has summed everything
def unbroadcast(grad, shape):
    new = len(sizes(grad)) - len(shape)
    dims = tuple(range(new)) + tuple(new + d for d, n in enumerate(shape) if n == 1)
    return reshape(sum_over(grad, dims, keepdim=True), shape)
