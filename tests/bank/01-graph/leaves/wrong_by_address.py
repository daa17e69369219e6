# misconception: tells leaves apart by their address
# fails: leaves of another kind
# message: Distinct means by identity
def leaves(root):
    found, seen, waiting = [], set(), [root]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            key = node.variable.data_ptr()
            if key not in [t.data_ptr() for t in found]:
                found.append(node.variable)
        waiting.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
