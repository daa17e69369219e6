# misconception: the heap has nothing to break ties with
# fails: two accumulators at once
# message: the heap went on to compare nodes
import heapq


def order(root):
    missing, waiting = {root: 0}, [root]
    while waiting:
        for n in waiting.pop().next:
            if n is not None:
                if n not in missing:
                    missing[n] = 0
                    waiting.append(n)
                missing[n] += 1
    ready, ran = [(-root.sequence, root)], []
    while ready:
        _, node = heapq.heappop(ready)
        ran.append(node)
        for n in node.next:
            if n is not None:
                missing[n] -= 1
                if missing[n] == 0:
                    heapq.heappush(ready, (-n.sequence, n))
    return ran
