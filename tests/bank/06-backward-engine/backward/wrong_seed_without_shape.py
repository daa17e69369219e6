# misconception: one loss ends a pass, so the seed may be a one of any shape
# fails: a root of shape (1, 1)
# message: a one of root
def backward(root, grad=None, retain_graph=False):
    if root.node is None or (grad is None and any(n != 1 for n in root.shape)):
        raise RuntimeError("Pass grad.")
    grad = torch.tensor(1.0) if grad is None else grad
    missing, waiting = {root.node: 0}, [root.node]
    while waiting:
        node = waiting.pop()
        if node.saved is None:
            raise RuntimeError("released")
        for n in node.next:
            if n is not None:
                if n not in missing:
                    missing[n] = 0
                    waiting.append(n)
                missing[n] += 1
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
