# misconception: a tuple holds one tensor
# fails: a tuple's tensors at their places
# fails: every tensor of a tuple
# message: not only the first
def saved(node):
    found = {}
    for attribute in dir(node):
        if attribute.startswith("_saved_"):
            value = getattr(node, attribute)
            name = attribute[len("_saved_"):]
            if isinstance(value, torch.Tensor):
                found[name] = value
            elif isinstance(value, tuple):
                for i, item in enumerate(value):
                    if isinstance(item, torch.Tensor):
                        found[f"{name}[{i}]"] = item
                        break
    return found
