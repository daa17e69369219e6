# misconception: leaves first, as in a schedule; the root stands last
# fails: a list, with the root first
# message: The list begins with root itself.
def nodes(root):
    seen, waiting = {root}, [root]
    order = []
    while waiting:
        node = waiting.pop()
        order.append(node)
        for operand, _ in node.next_functions:
            if operand is not None and operand not in seen:
                seen.add(operand)
                waiting.append(operand)
    return order[::-1]
