# misconception: marks a node when it is taken off and does not look again, so a shared node is listed twice
# fails: a shared node is listed once
# message: You listed the leaf once per edge.
def nodes(root):
    found, seen, waiting = [], set(), [root]
    while waiting:
        node = waiting.pop()
        seen.add(node)
        found.append(node)
        waiting.extend(operand for operand, _ in node.next_functions if operand is not None and operand not in seen)
    return found
