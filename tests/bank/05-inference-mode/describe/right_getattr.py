from contextlib import suppress


def describe(t):
    found = dict.fromkeys(("requires_grad", "is_leaf", "is_inference", "is_view", "has_version"), False)
    readers = {
        "requires_grad": lambda: t.requires_grad,
        "is_leaf": lambda: t.is_leaf,
        "is_inference": lambda: torch.is_inference(t),
        "is_view": lambda: t._is_view(),
        "has_version": lambda: isinstance(t._version, int),
    }
    for name, read in readers.items():
        with suppress(Exception):
            found[name] = bool(read())
    return found
