# misconception: counts may stay on the nodes
# fails: one root after another
# message: does anything of an earlier call remain
import heapq


def order(root):
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for following in node.next:
            if following is not None:
                if not hasattr(following, "missing"):
                    following.missing = 0
                    waiting.append(following)
                following.missing += 1
    tick = 0
    ready, ran = [(-root.sequence, 0, root)], []
    while ready:
        node = heapq.heappop(ready)[2]
        ran.append(node)
        for following in node.next:
            if following is not None:
                following.missing -= 1
                if following.missing == 0:
                    tick += 1
                    heapq.heappush(ready, (-following.sequence, tick, following))
    return ran
