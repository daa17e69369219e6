# a stack, operands pushed in reverse
def walk(fn):
    found, stack = [], [(0, fn)]
    while stack:
        depth, node = stack.pop()
        found.append((depth, node.__class__.__name__))
        stack.extend((depth + 1, operand) for operand, _ in node.next_functions[::-1] if operand is not None)
    return found
