# misconception: remembers answers by shape, dtype and what else came to mind
# fails: one tensor after another
# message: Look at the tensor in each call
def _describe(t):
    try:
        t._version
        has_version = True
    except RuntimeError:
        has_version = False
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": t.is_inference(), "is_view": t._is_view(),
            "has_version": has_version}

_known = {}
def describe(t):
    key = (tuple(t.shape), t.dtype, t.requires_grad, t.grad_fn is None, t.is_inference())
    if key not in _known:
        _known[key] = _describe(t)
    return _known[key]
