def backward(root, grad=None, retain_graph=False):
    """A topological order first, by depth-first search with a stack of iterators; then one pass over it."""
    if root.node is None:
        raise RuntimeError("root has no node")
    if grad is None:
        if any(n != 1 for n in root.shape):
            raise RuntimeError("grad must be given")
        grad = ones_like(root.data)
    finished, state = [], {root.node: 1}
    stack = [(root.node, iter(root.node.next))]
    while stack:
        node, edges = stack[-1]
        for below in edges:
            if below is not None and below not in state:
                state[below] = 1
                stack.append((below, iter(below.next)))
                break
        else:
            stack.pop()
            finished.append(node)
    if any(node.saved is None for node in finished):
        raise RuntimeError("part of this graph was released")
    incoming = {node: [] for node in finished}
    incoming[root.node].append(grad)
    for node in reversed(finished):
        total = incoming.pop(node)
        total = sum(total[1:], start=total[0])
        if node.leaf is None:
            for below, part in zip(node.next, node.rule(total), strict=True):
                if below is not None:
                    incoming[below].append(part)
            if not retain_graph:
                node.saved = None
        else:
            old = node.leaf.grad
            node.leaf.grad = copy(total) if old is None else old + total
