# misconception: does not look into tuples
# fails: a tuple's tensors at their places
# fails: None keeps its place in a tuple
# message: A tuple may hold tensors. Look inside.
def saved(node):
    names = [name for name in dir(node) if name.startswith("_saved_")]
    return {name[7:]: getattr(node, name) for name in names if isinstance(getattr(node, name), torch.Tensor)}
