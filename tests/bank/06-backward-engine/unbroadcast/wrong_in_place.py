# misconception: clears the incoming gradient
# fails: the gradient is left as it was
# message: You changed grad in place
def unbroadcast(grad, shape):
    result = grad.sum_to_size(shape).clone()
    grad.zero_()
    return result
