# misconception: a tensor that is read counts once more
# fails: fn runs backward itself
# message: You counted unpacking too.
def saved_bytes(fn, *args):
    sizes = []

    def count(tensor):
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor.detach()

    with saved_tensors_hooks(count, count):
        fn(*args)
    return len(sizes), sum(sizes)
