# misconception: a tensor is inference while the mode is on
# fails: four tensors seen from inside inference mode
# message: Inference is a property of the tensor, not of the mode
def describe(t):
    version = not torch.is_inference_mode_enabled()
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": torch.is_inference_mode_enabled(), "is_view": t._is_view(), "has_version": version}
