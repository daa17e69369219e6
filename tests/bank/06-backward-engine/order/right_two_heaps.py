from heapq import heapify, heappop, heappush


def order(root):
    """Accumulators never wait: they are written as soon as they are complete. Operations go by a heap of unique numbers."""
    edges, found = {}, [root]
    edges[root] = 0
    for node in found:
        for below in node.next:
            if below is None:
                continue
            if below not in edges:
                edges[below] = 0
                found.append(below)
            edges[below] += 1
    by_number = {node.sequence: node for node in found if node.leaf is None}
    if root.leaf is not None:
        return [root]
    heap, ran = [-root.sequence], []
    heapify(heap)
    while heap:
        node = by_number[-heappop(heap)]
        ran.append(node)
        for below in node.next:
            if below is not None:
                edges[below] -= 1
                if edges[below] == 0:
                    if below.leaf is not None:
                        ran.append(below)
                    else:
                        heappush(heap, -below.sequence)
    return ran
