# misconception: only new leading dimensions are summed
# fails: a dimension of size one
# message: A dimension of size one was stretched too
def unbroadcast(grad, shape):
    while len(sizes(grad)) > len(shape):
        grad = sum_over(grad, (0,))
    return grad
