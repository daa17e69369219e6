# misconception: hands out the keys of its dict
# fails: a list, with the root first
# message: list(...) makes a list
def nodes(root):
    found = {root: None}
    waiting = [root]
    while waiting:
        for operand, _ in waiting.pop().next_functions:
            if operand is not None and operand not in found:
                found[operand] = None
                waiting.append(operand)
    return found.keys()
