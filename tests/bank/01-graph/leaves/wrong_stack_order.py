# misconception: a stack turns the operands round
# fails: the leaves of (x * w).sum()
# message: A stack turns the order round
def leaves(root):
    found, seen, stack = [], set(), [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable)
        stack.extend(operand for operand, _ in node.next_functions if operand is not None)
    return found
