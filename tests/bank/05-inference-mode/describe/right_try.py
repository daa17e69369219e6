def describe(t):
    def ask(question):
        try:
            return bool(question())
        except RuntimeError:
            return False

    def readable():
        t._version
        return True

    return {
        "requires_grad": ask(lambda: t.requires_grad),
        "is_leaf": ask(lambda: t.is_leaf),
        "is_inference": ask(t.is_inference),
        "is_view": ask(t._is_view),
        "has_version": ask(readable),
    }
