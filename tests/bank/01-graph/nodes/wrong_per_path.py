# misconception: per-path recursion: exponential where nodes are shared
# fails: a chain of 20,000 nodes
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
