# misconception: clears the incoming gradient
# fails: the gradient is left as it was
# message: grad has to stay as it was
def unbroadcast(grad, shape):
    result = grad.sum_to_size(shape).clone()
    grad.zero_()
    return result
