# misconception: a warm-up run does no harm
# fails: fn is called once
# message: Call it once
def saved_bytes(fn, *args):
    sizes = []
    fn(*args)
    with saved_tensors_hooks(lambda t: sizes.append(t.nbytes) or t.detach(), lambda t: t):
        fn(*args)
    return len(sizes), sum(sizes)
