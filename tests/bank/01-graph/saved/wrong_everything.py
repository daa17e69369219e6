# misconception: takes shapes and flags for tensors
# fails: what is no tensor is left out
# message: A dimension, a flag and a shape are no tensors.
def saved(node):
    return {name.removeprefix("_saved_"): getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
