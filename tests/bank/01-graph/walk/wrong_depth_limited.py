# misconception: believes that no graph is deeper than ten
# fails: a branch is finished before the next begins
# message: then everything below its first operand
def walk(fn):
    found = []
    def below(node, depth):
        if depth > 10:
            return
        found.append((depth, type(node).__name__))
        for operand, _ in node.next_functions:
            if operand is not None:
                below(operand, depth + 1)
    below(fn, 0)
    return found
