# misconception: believes that saving means copying
# fails: the tensors themselves
# fails: the saved tensors themselves, not copies
# message: Saving is a reference.
def saved(node):
    result = {}
    for attribute in dir(node):
        if not attribute.startswith("_saved_"):
            continue
        name = attribute.removeprefix("_saved_")
        value = getattr(node, attribute)
        if isinstance(value, torch.Tensor):
            result[name] = value.clone()
        elif isinstance(value, tuple):
            for i, entry in enumerate(value):
                if isinstance(entry, torch.Tensor):
                    result[f"{name}[{i}]"] = entry
    return result
