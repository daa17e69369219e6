# misconception: in place needs no graph, so it is fine
# fails: add_ in place
# message: Without a version counter
survives = {
    "mul with a parameter": False,
    "add to a parameter": True,
    "mul by a number": True,
    "add_ in place": True,
    "view": True,
    "requires_grad_": False,
    "detach, then mul": False,
    "clone, then mul": True,
    "as an index": False,
    "as a mask": False,
}
