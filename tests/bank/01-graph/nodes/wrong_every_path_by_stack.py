# misconception: follows every path, though the answer holds each node once
# fails: sixty doublings
# message: There are 61 nodes but 2**60 paths.
def nodes(root):
    found, waiting = {}, [root]
    while waiting:
        node = waiting.pop()
        found[node] = None
        waiting.extend(operand for operand, _ in node.next_functions if operand is not None)
    return list(found)
