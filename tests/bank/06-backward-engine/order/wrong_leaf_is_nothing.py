# misconception: believes that there is nothing to run below a leaf
# fails: a leaf as root
# message: it is the only node
def order(root):
    if root.leaf is not None:
        return []
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
        for following in node.next:
            if following is not None:
                missing[following] -= 1
                if missing[following] == 0:
                    heapq.heappush(ready, (-following.sequence, next(arrivals), following))
    return ran
