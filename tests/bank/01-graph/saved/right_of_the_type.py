def saved(node) -> dict[str, torch.Tensor]:
    prefix, result = "_saved_", {}
    for base in type(node).__mro__:
        for attribute in base.__dict__:
            if attribute[: len(prefix)] != prefix:
                continue
            value = getattr(node, attribute)
            if torch.is_tensor(value):
                result[attribute[len(prefix) :]] = value
            elif type(value) is tuple:
                for place, part in enumerate(value):
                    if torch.is_tensor(part):
                        result[f"{attribute[len(prefix):]}[{place}]"] = part
    return result
