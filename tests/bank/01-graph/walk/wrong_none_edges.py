# misconception: takes every entry of next_functions for a node
# fails: a None edge is skipped
# fails: an operand without gradient is skipped
# message: next_functions holds None. Skip it.
def walk(fn, depth=0):
    rows = [(depth, type(fn).__name__)]
    for operand, _ in fn.next_functions:
        rows += walk(operand, depth + 1)
    return rows
