# misconception: looks a tensor up with `in`, which compares elements
# fails: leaves are told apart by identity
# message: compares their elements
def leaves(root):
    found = []

    def below(node):
        if hasattr(node, "variable"):
            if node.variable not in found:
                found.append(node.variable)
        for operand, _ in node.next_functions:
            if operand is not None:
                below(operand)

    below(root)
    return found
