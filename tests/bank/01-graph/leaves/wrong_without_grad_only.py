# misconception: believes that a leaf which has a .grad receives none
# fails: leaves of another kind
# message: receives the next gradient too
def leaves(root):
    found, seen, waiting = [], set(), [root]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable") and node.variable.requires_grad and node.variable.grad is None:
            found.append(node.variable)
        waiting.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
