# misconception: a leaf without grad_fn is a leaf only when it requires a gradient; a view is never a leaf
# fails: a view
# message: is_view is t._is_view()
def describe(t):
    try:
        t._version
        version = True
    except RuntimeError:
        version = False
    view = t._base is not None
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf and not view, "is_inference": t.is_inference(), "is_view": view, "has_version": version}
