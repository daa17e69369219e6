# misconception: weights are no activations, so they do not count as saved
# fails: tensors of every kind
# message: A Parameter is a tensor too
def saved(node):
    found = {}
    for attribute in dir(node):
        if attribute.startswith("_saved_"):
            name, value = attribute.removeprefix("_saved_"), getattr(node, attribute)
            entries = {f"{name}[{i}]": e for i, e in enumerate(value)} if isinstance(value, tuple) else {name: value}
            found.update({k: e for k, e in entries.items() if type(e) is torch.Tensor})
    return found
