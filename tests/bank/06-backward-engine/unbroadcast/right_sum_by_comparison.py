def unbroadcast(grad, shape):
    """Pad the operand's shape with ones, and sum where it says one and the gradient does not."""
    have = sizes(grad)
    padded = (1,) * (len(have) - len(shape)) + tuple(shape)
    dims = tuple(d for d, (n, m) in enumerate(zip(have, padded)) if n != m)
    return reshape(sum_over(grad, dims, keepdim=True) if dims else grad, tuple(shape))
