# misconception: shapes aligned at the left
# fails: a square gradient, one axis at a time
# message: Shapes are aligned at the right
def unbroadcast(grad, shape):
    have = sizes(grad)
    dims = tuple(d for d in range(len(have)) if d >= len(shape) or shape[d] == 1)
    return reshape(sum_over(grad, dims, keepdim=True), shape) if dims else grad
