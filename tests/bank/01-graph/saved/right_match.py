import re


def saved(node):
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return {}

    def items():
        for attribute in dir(node):
            name = re.fullmatch(r"_saved_(\w+)", attribute)
            if not name:
                continue
            match getattr(node, attribute):
                case torch.Tensor() as tensor:
                    yield name[1], tensor
                case [*entries]:
                    yield from ((f"{name[1]}[{place}]", entry) for place, entry in enumerate(entries) if torch.is_tensor(entry))

    return dict(items())
