# misconception: recursion is fine once the limit is high enough
# fails: the recursion limit is left as it was
# message: belongs to the whole process
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        elements = 1
        for n in sizes(root.data):
            elements *= n
        if elements > 1:
            raise RuntimeError("Pass grad.")
        grad = ones_like(root.data)
    import sys
    sys.setrecursionlimit(1_000_000)
    missing, order = {}, []

    def look(node):
        if node.saved is None:
            raise RuntimeError("released")
        missing[node] = True
        for following in node.next:
            if following is not None and following not in missing:
                look(following)
        order.append(node)

    look(root.node)
    buffers = {root.node: grad}
    for node in reversed(order):
        grad = buffers.pop(node)
        if node.leaf is not None:
            node.leaf.grad = copy(grad) if node.leaf.grad is None else node.leaf.grad + grad
            continue
        handed_on = node.rule(grad)
        if not retain_graph:
            node.saved = None
        for following, grad in zip(node.next, handed_on):
            if following is not None:
                buffers[following] = buffers[following] + grad if following in buffers else grad
