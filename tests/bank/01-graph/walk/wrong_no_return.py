# misconception: forgets the return, and adds up what the calls for the operands return
# fails: the graph of (x * w).sum()
# fails: an operand without gradient is skipped
# message: If walk returned None to itself, a `return` is missing.
def walk(fn, depth=0):
    rows = [walk(child, depth + 1) for child, _ in fn.next_functions if child]
    sum(rows, [(depth, fn.__class__.__name__)])
