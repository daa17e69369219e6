# misconception: a stack turns the operands round
# fails: pre-order
# fails: a branch is finished before the next begins
# message: The operands come in the wrong order
def walk(fn):
    found, stack = [], [(0, fn)]
    while stack:
        depth, node = stack.pop()
        found.append((depth, type(node).__name__))
        stack.extend((depth + 1, operand) for operand, _ in node.next_functions if operand is not None)
    return found
