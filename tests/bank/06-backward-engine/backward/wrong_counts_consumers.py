# misconception: a consumer delivers once, however often it uses a value
# fails: used twice by one node, and by another
# message: Count edges, not consumers
def backward(root, grad=None, retain_graph=False):
    if root.node is None or (grad is None and any(n != 1 for n in root.shape)):
        raise RuntimeError("Pass grad.")
    grad = ones_like(root.data) if grad is None else grad
    consumers, waiting = {root.node: set()}, [root.node]
    while waiting:
        node = waiting.pop()
        if node.saved is None:
            raise RuntimeError("released")
        for n in node.next:
            if n is not None:
                if n not in consumers:
                    consumers[n] = set()
                    waiting.append(n)
                consumers[n].add(node)
    missing = {node: len(users) for node, users in consumers.items()}
    buffers, ready = {root.node: grad}, [root.node]
    while ready:
        node = ready.pop()
        g = buffers.pop(node)
        if node.leaf is not None:
            node.leaf.grad = copy(g) if node.leaf.grad is None else node.leaf.grad + g
            continue
        parts = node.rule(g)
        if not retain_graph:
            node.saved = None
        for n, part in zip(node.next, parts):
            if n is not None:
                buffers[n] = buffers[n] + part if n in buffers else part
                missing[n] -= 1
                if missing[n] == 0:
                    ready.append(n)
