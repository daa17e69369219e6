# misconception: looks for a node in a list: quadratic
# fails: a node is looked up, not searched for
# fails: looked up on longer chains, too
# message: looks at every entry
def nodes(root):
    found = [root]
    for node in found:
        for operand, _ in node.next_functions:
            if operand is not None and operand not in found:
                found.append(operand)
    return found
