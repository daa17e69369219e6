# misconception: sums with the builtin, which gives 0 for no rows
# fails: dimensions of size zero
# message: A sum over no elements is 0
def unbroadcast(grad, shape):
    while len(sizes(grad)) > len(shape):
        grad = sum(grad)
    for d, n in enumerate(shape):
        if n == 1 and sizes(grad)[d] > 1:
            grad = sum_over(grad, (d,), keepdim=True)
    return grad
