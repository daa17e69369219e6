# misconception: leaves the loop at the first None
# fails: a None edge is skipped
# fails: an operand without gradient is skipped
# message: go on with the next
def walk(fn):
    found = []
    def below(node, depth):
        found.append((depth, type(node).__name__))
        for operand, _ in node.next_functions:
            if operand is None:
                break
            below(operand, depth + 1)
    below(fn, 0)
    return found
