# misconception: recursion depth: calls itself once per node of a chain
# fails: a chain of 400 nodes, on a short stack
# fails: as deep as you like
# message: Python's stack is not that deep.
def leaves(root):
    found, seen = [], set()

    def below(node):
        if node is None or node in seen:
            return
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable)
        for operand, _ in node.next_functions:
            below(operand)

    below(root)
    return found
