# misconception: numbers are quick to compare, so a list of ids will do
# fails: a node is looked up, not searched for
# fails: looked up on longer chains, too
# message: grows with the square
def nodes(root):
    found, seen = [root], [id(root)]
    for node in found:
        for below, _ in node.next_functions:
            if below is not None and id(below) not in seen:
                seen.append(id(below))
                found.append(below)
    return found
