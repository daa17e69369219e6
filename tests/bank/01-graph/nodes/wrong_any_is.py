# misconception: identity means searching the list with `is`
# fails: a node is looked up, not searched for
# fails: looked up on longer chains, too
# message: grows with the square
def nodes(root):
    found = [root]
    for node in found:
        for below, _ in node.next_functions:
            if below is not None and not any(below is other for other in found):
                found.append(below)
    return found
