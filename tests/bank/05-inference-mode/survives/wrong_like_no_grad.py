# misconception: inference_mode is a faster no_grad
# fails: mul with a parameter
# message: The gradient of the parameter is the other factor
survives = {
    "mul with a parameter": True,
    "add to a parameter": True,
    "mul by a number": True,
    "add_ in place": True,
    "view": True,
    "requires_grad_": True,
    "detach, then mul": True,
    "clone, then mul": True,
    "as an index": True,
    "as a mask": True,
}
