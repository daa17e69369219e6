# misconception: calling the function is close enough
# fails: only the tensor arguments are saved
# message: More than the two tensor arguments was saved.
def checkpoint(fn, *args):
    return fn(*args)
