# misconception: weights are no leaves
# fails: a list, with leaves of every kind
# message: A Parameter is a leaf like any other
def leaves(root):
    found, seen, stack = [], set(), [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable") and node.variable.requires_grad and type(node.variable) is torch.Tensor:
            found.append(node.variable)
        stack.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
