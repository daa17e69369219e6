# misconception: takes the C++ name for the type name
# fails: the graph of (x * w).sum()
# message: node.name() is the C++ name
def walk(fn, depth=0):
    rows = [(depth, fn.name())]
    for operand, _ in fn.next_functions:
        if operand is not None:
            rows += walk(operand, depth + 1)
    return rows
