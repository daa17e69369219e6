# misconception: keeps the nodes that it has seen in a list: quadratic
# fails: a node is looked up, not searched for
# fails: looked up on longer chains, too
# message: looks at every entry
def leaves(root):
    found, seen, stack = [], [], [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.append(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable)
        stack.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
