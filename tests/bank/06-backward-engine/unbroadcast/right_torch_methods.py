def unbroadcast(grad, shape):
    padded = (1,) * (grad.dim() - len(shape)) + tuple(shape)
    for dim, (want, have) in enumerate(zip(padded, grad.shape)):
        if want != have:
            grad = grad.sum(dim=dim, keepdim=True)
    return grad.view(shape) if grad.is_contiguous() else grad.reshape(shape)
