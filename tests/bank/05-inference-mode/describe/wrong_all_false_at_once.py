# misconception: one property that raises makes all of them False
# fails: a view that cannot say whether it is a leaf
# message: The rest is reported as it is
def describe(t):
    found = dict.fromkeys(("requires_grad", "is_leaf", "is_inference", "is_view", "has_version"), False)
    try:
        found["is_leaf"] = t.is_leaf
        found["requires_grad"], found["is_inference"], found["is_view"] = t.requires_grad, t.is_inference(), t._is_view()
        found["has_version"] = t._version >= 0
    except RuntimeError:
        pass
    return found
