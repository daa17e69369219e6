def unbroadcast(grad, shape):
    have = sizes(grad)
    new = len(have) - len(shape)
    dims = tuple(d for d in range(len(have)) if d < new or shape[d - new] == 1)
    return reshape(sum_over(grad, dims, True), shape) if dims else grad
