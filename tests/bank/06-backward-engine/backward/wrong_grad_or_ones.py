# misconception: a gradient that is false was not given
# fails: a given gradient for a root of one element
# message: grad was given as 0
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None and any(n != 1 for n in sizes(root.data)):
        raise RuntimeError("Pass grad.")
    if all(n == 1 for n in sizes(root.data)):
        grad = grad or ones_like(root.data)

    missing = {root.node: 0}
    waiting = [root.node]
    while waiting:
        node = waiting.pop()
        if node.saved is None:
            raise RuntimeError("released")
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
