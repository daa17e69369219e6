# misconception: hands out a generator
# fails: a list comes back
# message: list(...) makes a list
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
        for following in node.next:
            if following is not None:
                missing[following] -= 1
                if missing[following] == 0:
                    heapq.heappush(ready, (-following.sequence, next(arrivals), following))
    return (node for node in ran)
