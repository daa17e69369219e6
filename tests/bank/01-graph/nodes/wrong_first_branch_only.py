# misconception: follows the first operand down, and looks at the others without going below them
# fails: what lies below a second operand
# message: not only a first operand
def nodes(root):
    found, waiting = {root: None}, [root]
    while waiting:
        for place, (operand, _) in enumerate(waiting.pop().next_functions):
            if operand is not None and operand not in found:
                found[operand] = None
                if place == 0:
                    waiting.append(operand)
    return list(found)
