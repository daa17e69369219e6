# misconception: follows every path, though the answer holds each node once
# fails: twelve doublings take twelve visits
# fails: sixty doublings
# message: Visit every node once, not every path.
def nodes(root):
    found, waiting = {}, [root]
    while waiting:
        node = waiting.pop()
        found[node] = None
        waiting.extend(operand for operand, _ in node.next_functions if operand is not None)
    return list(found)
