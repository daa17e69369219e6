# misconception: takes the values of a dict for a list
# fails: a list, with leaves of every kind
# message: list(...) makes a list
def leaves(root):
    found, seen, stack = {}, set(), [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable") and node.variable.requires_grad:
            found[node] = node.variable
        stack.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found.values()
