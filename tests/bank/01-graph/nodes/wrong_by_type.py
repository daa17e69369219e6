# misconception: takes two nodes of one type for one node
# fails: every node of (x * w).sum()
# fails: many nodes of a few kinds
# message: Two nodes of the same type are two nodes.
def nodes(root):
    found, waiting = {type(root).__name__: root}, [root]
    while waiting:
        for operand, _ in waiting.pop().next_functions:
            if operand is not None and type(operand).__name__ not in found:
                found[type(operand).__name__] = operand
                waiting.append(operand)
    return list(found.values())
