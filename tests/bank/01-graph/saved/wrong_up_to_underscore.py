# misconception: takes the name up to the next underscore
# fails: names with an underscore
# message: a name may have an underscore in it
def saved(node):
    found = {}
    for attribute in dir(node):
        if attribute.startswith("_saved_"):
            name, value = attribute.split("_")[2], getattr(node, attribute)
            entries = {f"{name}[{i}]": e for i, e in enumerate(value)} if isinstance(value, tuple) else {name: value}
            found.update({k: e for k, e in entries.items() if isinstance(e, torch.Tensor)})
    return found
