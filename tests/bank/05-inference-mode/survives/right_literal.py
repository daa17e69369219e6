survives = {
    "mul with a parameter": False,
    "add to a parameter": True,
    "mul by a number": True,
    "add_ in place": False,
    "view": True,
    "requires_grad_": False,
    "detach, then mul": False,
    "clone, then mul": True,
    "as an index": False,
    "as a mask": False,
}
