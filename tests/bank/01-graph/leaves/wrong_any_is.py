# misconception: identity means searching the list of seen nodes with `is`
# fails: a node is looked up, not searched for
# fails: looked up on longer chains, too
# message: grows with the square
def leaves(root):
    found, seen, stack = [], [], [root]
    while stack:
        node = stack.pop()
        if any(node is other for other in seen):
            continue
        seen.append(node)
        if hasattr(node, "variable") and node.variable.requires_grad:
            found.append(node.variable)
        stack.extend(below for below, _ in node.next_functions[::-1] if below is not None)
    return found
