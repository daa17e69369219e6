from collections import Counter


def dependencies(root):
    reached, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if node in reached:
            continue
        reached.add(node)
        waiting.extend(n for n in node.next if n is not None)
    edges = Counter(n for node in reached for n in node.next if n is not None)
    return {node: edges[node] for node in reached}
