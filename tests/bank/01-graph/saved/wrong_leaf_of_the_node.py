# misconception: takes the leaf of an AccumulateGrad for something that it saved
# fails: a leaf's own node
# message: AccumulateGrad saved nothing
def saved(node):
    found = {}
    for attribute in dir(node):
        if attribute.startswith("_saved_") or attribute == "variable":
            name, value = attribute.removeprefix("_saved_"), getattr(node, attribute)
            entries = {f"{name}[{i}]": e for i, e in enumerate(value)} if isinstance(value, tuple) else {name: value}
            found.update({k: e for k, e in entries.items() if isinstance(e, torch.Tensor)})
    return found
