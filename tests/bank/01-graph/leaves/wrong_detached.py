# misconception: hands out detached tensors instead of the leaves
# fails: the leaves of (x * w).sum()
# message: Return the leaves themselves
def leaves(root):
    found, seen, stack = [], set(), [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable.detach())
        stack.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
