# misconception: edits the tensor to see whether that counts
# fails: a tensor that changed between two calls
# message: its version has risen
def describe(t):
    try:
        t.add_(0)
        has_version = not t.is_inference()
    except RuntimeError:
        has_version = not t.is_inference()
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": t.is_inference(), "is_view": t._is_view(), "has_version": has_version}
