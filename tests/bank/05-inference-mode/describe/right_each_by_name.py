def describe(t):
    def has(name):
        try:
            getattr(t, name)
        except RuntimeError:
            return False
        return True

    return {"requires_grad": t.requires_grad, "is_leaf": has("is_leaf") and t.is_leaf, "is_inference": torch.is_inference(t),
            "is_view": t._is_view(), "has_version": has("_version")}
