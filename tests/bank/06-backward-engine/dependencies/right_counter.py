from collections import Counter, deque


def dependencies(root):
    def edges(node):
        return [n for n in node.next if n is not None]

    counts, seen, queue = Counter({root: 0}), {id(root)}, deque([root])
    while queue:
        below = edges(queue.popleft())
        counts.update(below)
        for node in below:
            if id(node) not in seen:
                seen.add(id(node))
                queue.append(node)
    return dict(counts)
