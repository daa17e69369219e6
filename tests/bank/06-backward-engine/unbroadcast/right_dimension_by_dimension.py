def unbroadcast(grad, shape):
    while len(sizes(grad)) > len(shape):
        grad = sum_over(grad, (0,))
    for d, n in enumerate(shape):
        if n == 1 and sizes(grad)[d] != 1:
            grad = sum_over(grad, (d,), keepdim=True)
    return grad
