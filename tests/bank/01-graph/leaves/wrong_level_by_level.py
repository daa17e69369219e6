# misconception: recursion without order: level by level instead of pre-order
# fails: in pre-order
# message: not in pre-order. Go down the first operand
def leaves(root):
    found, seen, stack = [], set(), [root]
    while stack:
        node = stack.pop(0)
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable)
        stack.extend(operand for operand, _ in node.next_functions if operand is not None)
    return found
