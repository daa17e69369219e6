# misconception: starts with ones whatever the root
# fails: many elements and no gradient
# message: no obvious gradient
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        grad = ones_like(root.data)
    missing, waiting = {root.node: 0}, [root.node]
    while waiting:
        node = waiting.pop()
        if node.saved is None:
            raise RuntimeError("This node was released.")
        for n in node.next:
            if n is not None:
                if n not in missing:
                    missing[n] = 0
                    waiting.append(n)
                missing[n] += 1
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
