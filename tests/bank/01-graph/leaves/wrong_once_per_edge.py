# misconception: follows every path: a leaf comes once per edge
# fails: a leaf used twice is listed once
# message: x is listed twice: once per edge.
def leaves(root):
    found, seen, stack = [], set(), [root]
    while stack:
        node = stack.pop()
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable)
        stack.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
