# misconception: every tensor has a version
# fails: an inference tensor
# message: Reading _version of an inference tensor raises.
def describe(t):
    version = t._version >= 0
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": t.is_inference(), "is_view": t._is_view(), "has_version": version}
