# misconception: raises a ValueError on a released node
# fails: a released node reached again
# message: must raise RuntimeError
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("no node")
    if grad is None:
        elements = 1
        for n in sizes(root.data):
            elements *= n
        if elements != 1:
            raise RuntimeError("Pass grad.")
        grad = ones_like(root.data)
    missing = {root.node: 0}
    waiting = [root.node]
    while waiting:
        node = waiting.pop()
        if node.saved is None:
            raise ValueError("released")
        for following in node.next:
            if following is not None:
                if following not in missing:
                    missing[following] = 0
                    waiting.append(following)
                missing[following] += 1
    buffers = {root.node: grad}
    ready = [root.node]
    while ready:
        node = ready.pop()
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
                missing[following] -= 1
                if missing[following] == 0:
                    ready.append(following)
