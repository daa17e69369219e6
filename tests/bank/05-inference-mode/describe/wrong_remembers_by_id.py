# misconception: remembers answers by the id of a tensor
# fails: a tensor that changed between two calls
# message: Look at it in each call
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
    if id(t) not in _known:
        _known[id(t)] = _describe(t)
    return _known[id(t)]
