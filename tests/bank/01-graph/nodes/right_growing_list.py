# breadth first over a list that grows; ids of nodes that the list holds
def nodes(root) -> list:
    found, seen = [root], {id(root)}
    for node in found:  # the list grows while it is read; it keeps every node alive, so ids are safe
        for operand, _ in node.next_functions:
            if operand is not None and id(operand) not in seen:
                seen.add(id(operand))
                found.append(operand)
    return found
