# misconception: a tensor that does not fill its storage is a view
# fails: a view of an inference tensor
# message: Torch does not track views of inference tensors
def describe(t):
    version = not t.is_inference()
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": t.is_inference(), "is_view": t.layout == torch.strided and t.numel() * t.element_size() != t.untyped_storage().nbytes(), "has_version": version}
