# three cases in a loop
def saved(node):
    result = {}
    for attribute in dir(node):
        if not attribute.startswith("_saved_"):
            continue
        name = attribute[len("_saved_") :]
        value = getattr(node, attribute)
        if isinstance(value, torch.Tensor):
            result[name] = value
        elif isinstance(value, (tuple, list)):
            for i, entry in enumerate(value):
                if isinstance(entry, torch.Tensor):
                    result[f"{name}[{i}]"] = entry
    return result
