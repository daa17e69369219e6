# misconception: takes lstrip for removeprefix
# fails: a product saves both factors
# message: named by the attribute without its prefix
def saved(node):
    found = {}
    for attribute in dir(node):
        if attribute.startswith("_saved_"):
            name, value = attribute.lstrip("_saved_"), getattr(node, attribute)
            entries = {f"{name}[{i}]": e for i, e in enumerate(value)} if isinstance(value, tuple) else {name: value}
            found.update({k: e for k, e in entries.items() if isinstance(e, torch.Tensor)})
    return found
