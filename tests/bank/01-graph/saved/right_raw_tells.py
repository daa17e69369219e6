# the packed twin of an attribute says that it holds tensors
def saved(node) -> dict[str, torch.Tensor]:
    def entries(name):
        value = getattr(node, "_saved_" + name)
        if type(value) is tuple:
            return {f"{name}[{i}]": entry for i, entry in enumerate(value) if entry is not None}
        return {} if value is None else {name: value}

    packed = [name[len("_raw_saved_") :] for name in dir(type(node)) if name.startswith("_raw_saved_")]
    return {
        key: value for name in packed if hasattr(type(node), "_saved_" + name) for key, value in entries(name).items()
    }
