# misconception: a leaf is a tensor that gets gradients
# fails: an inference tensor
# message: A tensor without history is a leaf
def describe(t):
    version = not t.is_inference()
    return {"requires_grad": t.requires_grad, "is_leaf": t.requires_grad and t.grad_fn is None, "is_inference": t.is_inference(), "is_view": t._is_view(), "has_version": version}
