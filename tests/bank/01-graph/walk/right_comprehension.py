def walk(fn, depth=0):
    rows = [walk(child, depth + 1) for child, _ in fn.next_functions if child]
    return sum(rows, [(depth, fn.__class__.__name__)])
