# misconception: empties one list for every call and hands it out
# fails: one walk after another
# message: a list at module level or as a default
def walk(fn, depth=0, found=[]):
    if depth == 0:
        found.clear()
    found.append((depth, type(fn).__name__))
    for operand, _ in fn.next_functions:
        if operand is not None:
            walk(operand, depth + 1, found)
    return found
