# misconception: an inference tensor cannot be used outside at all
# fails: add to a parameter
# message: The backward of an addition needs neither operand.
survives = {
    "mul with a parameter": False,
    "add to a parameter": False,
    "mul by a number": False,
    "add_ in place": False,
    "view": False,
    "requires_grad_": False,
    "detach, then mul": False,
    "clone, then mul": False,
    "as an index": False,
    "as a mask": False,
}
