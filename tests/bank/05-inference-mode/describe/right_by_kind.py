def describe(t):
    """An inference tensor is exactly a tensor without a version counter."""
    inference = torch.is_inference(t)
    return dict(requires_grad=t.requires_grad, is_leaf=t.is_leaf, is_inference=inference, is_view=t._is_view(),
                has_version=not inference)
