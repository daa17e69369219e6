# misconception: drops a leading dimension of size one on the caller's own tensor
# fails: the gradient keeps its shape and values
# message: has lost a dimension
def unbroadcast(grad, shape):
    while len(grad.shape) > len(shape) and grad.shape[0] == 1:
        grad.squeeze_(0)
    return grad.sum_to_size(shape)
