from collections import deque


def dependencies(root):
    counts = {root: 0}
    queue = deque([root])
    while queue:
        node = queue.popleft()
        for following in filter(None, node.next):
            if following in counts:
                counts[following] += 1
            else:
                counts[following] = 1
                queue.append(following)
    return counts
