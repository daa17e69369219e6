# recursion that returns lists
def walk(fn):
    def below(node, depth):
        rows = [(depth, type(node).__name__)]
        for operand, _ in node.next_functions:
            if operand is not None:
                rows += below(operand, depth + 1)
        return rows

    return below(fn, 0)
