# a stack, marked when popped
def leaves(root):
    found, seen, stack = [], set(), [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable") and node.variable.requires_grad:
            found.append(node.variable)
        for operand, _ in reversed(node.next_functions):
            if operand is not None:
                stack.append(operand)
    return found
