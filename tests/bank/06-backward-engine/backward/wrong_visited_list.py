# misconception: looks nodes up in a list: quadratic
# fails: nodes are looked up, not searched for
# message: Linear time is asked
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        if any(n != 1 for n in sizes(root.data)):
            raise RuntimeError("Pass grad for a root of several elements.")
        grad = ones_like(root.data)
    order, missing = [root.node], {}
    for node in order:
        if node.saved is None:
            raise RuntimeError("released")
        for n in node.next:
            if n is not None:
                missing[n] = missing.get(n, 0) + 1
                if n not in order:
                    order.append(n)
    buffers, ready = {root.node: grad}, [root.node]
    while ready:
        node = ready.pop()
        grad = buffers.pop(node)
        if node.leaf is not None:
            node.leaf.grad = copy(grad) if node.leaf.grad is None else node.leaf.grad + grad
            continue
        handed_on = node.rule(grad)
        if not retain_graph:
            node.saved = None
        for n, g in zip(node.next, handed_on):
            if n is not None:
                buffers[n] = buffers[n] + g if n in buffers else g
                missing[n] -= 1
                if missing[n] == 0:
                    ready.append(n)
