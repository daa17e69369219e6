# misconception: drops every dimension of size one that the gradient has, on the caller's own tensor
# fails: the gradient keeps its shape and values
# fails: the gradient is left as it was
# message: a method whose name ends in _
def unbroadcast(grad, shape):
    result = grad.sum_to_size(shape).clone()
    grad.squeeze_()
    return result
