# misconception: numbers a tuple after dropping its None
# fails: a tuple's tensors at their places
# fails: None keeps its place in a tuple
# message: Number the entries before you leave out None
def saved(node):
    result = {}
    for attribute in dir(node):
        if not attribute.startswith("_saved_"):
            continue
        name = attribute.removeprefix("_saved_")
        value = getattr(node, attribute)
        if isinstance(value, torch.Tensor):
            result[name] = value
        elif isinstance(value, tuple):
            tensors = [entry for entry in value if isinstance(entry, torch.Tensor)]
            for i, entry in enumerate(tensors):
                result[f"{name}[{i}]"] = entry
    return result
