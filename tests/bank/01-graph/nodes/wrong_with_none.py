# misconception: counts the None of an operand without gradient as a node
# fails: None is no node
# fails: an operand without gradient is no node
# message: None is not a node. Skip it.
def nodes(root):
    found, waiting = {root: None}, [root]
    while waiting:
        node = waiting.pop()
        for operand, _ in node.next_functions if node is not None else ():
            if operand not in found:
                found[operand] = None
                waiting.append(operand)
    return list(found)
