# misconception: leaves the prefix on the keys
# fails: a product saves both factors
# message: Take the prefix
def saved(node):
    result = {}
    for attribute in dir(node):
        if not attribute.startswith("_saved_"):
            continue
        name = attribute
        value = getattr(node, attribute)
        if isinstance(value, torch.Tensor):
            result[name] = value
        elif isinstance(value, tuple):
            for i, entry in enumerate(value):
                if isinstance(entry, torch.Tensor):
                    result[f"{name}[{i}]"] = entry
    return result
