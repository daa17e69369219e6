# misconception: forgets the return
# fails: a square gradient, one axis at a time
# message: If your function returned None, a `return` is missing.
def unbroadcast(grad, shape):
    while len(sizes(grad)) > len(shape):
        grad = sum_over(grad, (0,))
    for d, n in enumerate(shape):
        if n == 1 and sizes(grad)[d] != 1:
            grad = sum_over(grad, (d,), keepdim=True)
    grad
