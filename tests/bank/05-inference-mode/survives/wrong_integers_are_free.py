# misconception: only what gradients flow through is saved
# fails: as an index
# message: Integer tensors are inference tensors as well.
survives = {
    "mul with a parameter": False,
    "add to a parameter": True,
    "mul by a number": True,
    "add_ in place": False,
    "view": True,
    "requires_grad_": False,
    "detach, then mul": False,
    "clone, then mul": True,
    "as an index": True,
    "as a mask": True,
}
