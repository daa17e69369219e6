# misconception: sum over no dimension is taken for no sum
# fails: shapes that agree
# message: sum with dim=() sums everything
def unbroadcast(grad, shape):
    new = len(sizes(grad)) - len(shape)
    dims = tuple(range(new)) + tuple(new + d for d, n in enumerate(shape) if n == 1)
    return sum_over(grad, dims)
