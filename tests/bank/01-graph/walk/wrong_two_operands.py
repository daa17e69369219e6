# misconception: believes that an operation has two operands at most
# fails: an operation of three operands
# message: any number of operands
def walk(fn):
    found = []
    def below(node, depth):
        found.append((depth, type(node).__name__))
        for operand, _ in node.next_functions[:2]:
            if operand is not None:
                below(operand, depth + 1)
    below(fn, 0)
    return found
