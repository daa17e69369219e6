# misconception: takes every entry of next_functions for a node
# fails: None is no node
# fails: an operand without gradient is no node
# message: next_functions holds None. Skip it.
def nodes(root):
    found = {root: None}
    waiting = [root]
    while waiting:
        for operand, _ in waiting.pop().next_functions:
            if operand not in found:
                found[operand] = None
                waiting.append(operand)
    return list(found)
