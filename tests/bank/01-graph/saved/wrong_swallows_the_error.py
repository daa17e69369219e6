# misconception: takes a released graph for one that saved nothing
# fails: a released graph raises PyTorch's error
# fails: a released graph says so
# message: On a released graph PyTorch raises
def saved(node):
    result = {}
    for attribute in dir(node):
        if not attribute.startswith("_saved_"):
            continue
        name = attribute.removeprefix("_saved_")
        try:
            value = getattr(node, attribute)
        except RuntimeError:
            continue
        if isinstance(value, torch.Tensor):
            result[name] = value
        elif isinstance(value, tuple):
            for i, entry in enumerate(value):
                if isinstance(entry, torch.Tensor):
                    result[f"{name}[{i}]"] = entry
    return result
