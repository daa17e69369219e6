# misconception: an inference tensor is exactly a tensor without a version counter
# fails: an inference tensor, detached outside the mode
# fails: detached and sliced from outside
# message: does not follow from
def describe(t):
    try:
        leaf = t.is_leaf
    except RuntimeError:
        leaf = False
    return dict(requires_grad=t.requires_grad, is_leaf=leaf, is_inference=t.is_inference(), is_view=t._is_view(),
                has_version=not t.is_inference())
