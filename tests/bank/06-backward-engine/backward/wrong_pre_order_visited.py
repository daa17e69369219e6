# misconception: runs a node at first sight
# fails: no rule before its consumers
# message: A node ran before one of its consumers
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        if any(n != 1 for n in sizes(root.data)):
            raise RuntimeError("Pass grad for a root of several elements.")
        grad = ones_like(root.data)
    visited, buffers, stack = set(), {root.node: grad}, [root.node]
    while stack:
        node = stack.pop()
        if node in visited:
            continue
        visited.add(node)
        if node.leaf is not None:
            node.leaf.grad = copy(buffers[node]) if node.leaf.grad is None else node.leaf.grad + buffers[node]
            continue
        for n, g in zip(node.next, node.rule(buffers[node])):
            if n is not None:
                buffers[n] = buffers[n] + g if n in buffers else g
                stack.append(n)
        if not retain_graph:
            node.saved = None
