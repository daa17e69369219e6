# misconception: looks for float32 leaves only
# fails: leaves of another kind
# message: A leaf may have any dtype
def leaves(root):
    found, seen, waiting = [], set(), [root]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad and node.variable.dtype == torch.float32:
            found.append(node.variable)
        waiting.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
