# misconception: stops above the leaves
# fails: the graph of (x * w).sum()
# message: AccumulateGrad is a node too.
def walk(fn, depth=0):
    rows = [(depth, type(fn).__name__)]
    for operand, _ in fn.next_functions:
        if operand is not None and operand.next_functions:
            rows += walk(operand, depth + 1)
    return rows
