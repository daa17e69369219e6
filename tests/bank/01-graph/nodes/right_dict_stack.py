# a dict is both the set and the answer
def nodes(root):
    found = {root: None}
    waiting = [root]
    while waiting:
        for operand, _ in waiting.pop().next_functions:
            if operand is not None and operand not in found:
                found[operand] = None
                waiting.append(operand)
    return list(found)
