# breadth first, marked when taken off
from collections import deque


def nodes(root):
    order, seen, queue = [], set(), deque([root])
    while queue:
        node = queue.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        order.append(node)
        queue.extend(edge[0] for edge in node.next_functions)
    return order
