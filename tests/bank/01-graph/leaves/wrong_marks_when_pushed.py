# misconception: marks a node when it is pushed, so a later meeting wins
# fails: a leaf is listed where it is first met
# fails: the first meeting counts
# message: If you mark nodes as seen when you push them
def leaves(root):
    found, seen, stack = [], {root}, [root]
    while stack:
        node = stack.pop()
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable)
        for operand, _ in reversed(node.next_functions):
            if operand is not None and operand not in seen:
                seen.add(operand)
                stack.append(operand)
    return found
