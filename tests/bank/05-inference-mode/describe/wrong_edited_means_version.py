# misconception: has_version asks whether the counter moved
# fails: a parameter
# message: has_version asks whether the counter can be read
def describe(t):
    version = not t.is_inference() and t._version > 0
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": t.is_inference(), "is_view": t._is_view(), "has_version": version}
