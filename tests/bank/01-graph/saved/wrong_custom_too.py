# misconception: reads a custom Function's saved_tensors as well
# fails: nothing for a custom Function
# fails: a custom Function's node
# message: `saved_tensors` is another door
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
            for i, entry in enumerate(value):
                if isinstance(entry, torch.Tensor):
                    result[f"{name}[{i}]"] = entry
    for i, value in enumerate(getattr(node, "saved_tensors", ())):
        result[f"saved_tensors[{i}]"] = value
    return result
