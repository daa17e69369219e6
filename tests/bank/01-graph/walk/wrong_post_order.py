# misconception: lists a node after what lies below it
# fails: the graph of (x * w).sum()
# message: A node comes before what lies below it.
def walk(fn, depth=0):
    rows = []
    for operand, _ in fn.next_functions:
        if operand is not None:
            rows += walk(operand, depth + 1)
    return [*rows, (depth, type(fn).__name__)]
