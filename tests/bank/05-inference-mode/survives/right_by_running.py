def works(use):
    try:
        use(rollout())
    except RuntimeError:
        return False
    return True


survives = {name: works(use) for name, use in USES.items()}
