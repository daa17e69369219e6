# misconception: counts depth from one
# fails: the graph of (x * w).sum()
# message: The depth of fn itself is 0.
def walk(fn, depth=1):
    rows = [(depth, type(fn).__name__)]
    for operand, _ in fn.next_functions:
        if operand is not None:
            rows += walk(operand, depth + 1)
    return rows
