# misconception: follows the first edge down to count, and only looks at what stands beside that spine
# fails: what stands second goes on, too
# message: not the first alone
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("no node")
    if grad is None:
        elements = 1
        for n in sizes(root.data):
            elements *= n
        if elements != 1:
            raise RuntimeError("pass grad")
        grad = ones_like(root.data)
    missing, node = {root.node: 0}, root.node
    while node is not None:
        if node.saved is None:
            raise RuntimeError("released")
        for following in node.next:
            if following is not None:
                missing[following] = missing.get(following, 0) + 1
        node = next((n for n in node.next if n is not None), None)
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
        for following, part in zip(node.next, handed_on):
            if following is not None and following in missing:
                buffers[following] = buffers[following] + part if following in buffers else part
                missing[following] -= 1
                if missing[following] == 0:
                    ready.append(following)
