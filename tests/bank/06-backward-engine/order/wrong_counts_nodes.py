# misconception: a consumer delivers once, however often it uses a value
# fails: used twice by one node, and by another
# message: Count edges, not consumers
def order(root):
    consumers, waiting, seen = {root: set()}, [root], {root}
    while waiting:
        node = waiting.pop()
        for below in node.next:
            if below is not None:
                consumers.setdefault(below, set()).add(node)
                if below not in seen:
                    seen.add(below)
                    waiting.append(below)
    missing = {node: len(users) for node, users in consumers.items()}
    ready, ran = [root], []
    while ready:
        node = max(ready, key=lambda n: n.sequence)
        ready.remove(node)
        ran.append(node)
        for below in node.next:
            if below is not None:
                missing[below] -= 1
                if missing[below] == 0:
                    ready.append(below)
    return ran
