# misconception: a clone of an inference tensor is one
# fails: clone, then mul
# message: A clone made outside inference mode has memory of its own
survives = {
    "mul with a parameter": False,
    "add to a parameter": True,
    "mul by a number": True,
    "add_ in place": False,
    "view": True,
    "requires_grad_": False,
    "detach, then mul": False,
    "clone, then mul": False,
    "as an index": False,
    "as a mask": False,
}
