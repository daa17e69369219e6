# misconception: remembers answers for each tensor
# fails: a tensor that changed between two calls
# message: remember nothing
def _describe(t):
    try:
        t._version
        has_version = True
    except RuntimeError:
        has_version = False
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": t.is_inference(), "is_view": t._is_view(),
            "has_version": has_version}

import functools
describe = functools.lru_cache(None)(_describe)
