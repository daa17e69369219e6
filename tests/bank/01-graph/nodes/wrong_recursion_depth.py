# misconception: recursion depth: calls itself once per node of a chain
# fails: a chain of 400 nodes, on a short stack
# fails: as deep as you like
# message: Python's stack is not that deep.
def nodes(root, seen=None):
    seen = {} if seen is None else seen
    seen[root] = None
    for operand, _ in root.next_functions:
        if operand is not None and operand not in seen:
            nodes(operand, seen)
    return list(seen)
