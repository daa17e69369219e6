# misconception: hands out one dict at every call
# fails: four tensors seen from inside inference mode
# message: one at module level is shared by all
_result = {}
def describe(t):
    try:
        t._version
        _result["has_version"] = True
    except RuntimeError:
        _result["has_version"] = False
    _result.update(requires_grad=t.requires_grad, is_leaf=t.is_leaf, is_inference=t.is_inference(), is_view=t._is_view())
    return _result
