# misconception: visits each node once, as if the outline were a set
# fails: one entry per path
# message: You listed the exp once. walk lists paths
def walk(fn):
    found, seen = [], set()

    def below(node, depth):
        if node is None or node in seen:
            return
        seen.add(node)
        found.append((depth, type(node).__name__))
        for operand, _ in node.next_functions:
            below(operand, depth + 1)

    below(fn, 0)
    return found
