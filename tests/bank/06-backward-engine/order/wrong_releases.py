# misconception: releases the nodes, as backward does
# fails: the graph is left as it was
# message: Nodes were released
def order(root):
    import heapq
    from itertools import count
    missing = {root: 0}
    waiting = [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None:
                if following not in missing:
                    missing[following] = 0
                    waiting.append(following)
                missing[following] += 1
    arrivals = count()
    ready = [(-root.sequence, next(arrivals), root)]
    ran = []
    while ready:
        *_, node = heapq.heappop(ready)
        ran.append(node)
        if node.leaf is None:
            node.saved = None
        for following in node.next:
            if following is not None:
                missing[following] -= 1
                if missing[following] == 0:
                    heapq.heappush(ready, (-following.sequence, next(arrivals), following))
    return ran
