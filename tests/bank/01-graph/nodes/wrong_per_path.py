# misconception: per-path recursion: exponential where nodes are shared
# fails: a chain of 400 nodes, on a short stack
# fails: as deep as you like
# message: Python's stack is not that deep.
def nodes(root):
    found = {}

    def below(node):
        found[node] = None
        for operand, _ in node.next_functions:
            if operand is not None:
                below(operand)

    below(root)
    return list(found)
