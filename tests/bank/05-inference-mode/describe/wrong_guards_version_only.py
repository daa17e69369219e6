# misconception: _version is the only property that torch can refuse to report
# fails: a view that cannot say whether it is a leaf
# message: Reading is_leaf raised
def describe(t):
    try:
        t._version
        has_version = True
    except RuntimeError:
        has_version = False
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": t.is_inference(), "is_view": t._is_view(),
            "has_version": has_version}
