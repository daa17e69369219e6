# misconception: detaches what it hands out
# fails: the saved tensors themselves, not copies
# message: came back detached
def saved(node):
    found = {}
    for attribute in dir(node):
        if attribute.startswith("_saved_"):
            name, value = attribute.removeprefix("_saved_"), getattr(node, attribute)
            entries = {f"{name}[{i}]": e for i, e in enumerate(value)} if isinstance(value, tuple) else {name: value}
            found.update({k: e.detach() for k, e in entries.items() if isinstance(e, torch.Tensor)})
    return found
