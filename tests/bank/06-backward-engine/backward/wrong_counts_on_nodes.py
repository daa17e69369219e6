# misconception: counts on the nodes are back at zero after every call
# fails: a good backward after the error
# message: must go as if the other call had not been
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        elements = 1
        for n in sizes(root.data):
            elements *= n
        if elements != 1:
            raise RuntimeError("Pass grad.")
        grad = ones_like(root.data)
    waiting = [root.node]
    root.node.missing = 0
    while waiting:
        node = waiting.pop()
        if node.saved is None:
            raise RuntimeError("released")
        for following in node.next:
            if following is not None:
                if getattr(following, "missing", 0) == 0:
                    following.missing = 0
                    waiting.append(following)
                following.missing += 1
    root.node.buffer = grad
    ready = [root.node]
    while ready:
        node = ready.pop()
        grad, node.buffer = node.buffer, None
        if node.leaf is not None:
            node.leaf.grad = copy(grad) if node.leaf.grad is None else node.leaf.grad + grad
            continue
        handed_on = node.rule(grad)
        if not retain_graph:
            node.saved = None
        for following, grad in zip(node.next, handed_on):
            if following is not None:
                following.buffer = grad if getattr(following, "buffer", None) is None else following.buffer + grad
                following.missing -= 1
                if following.missing == 0:
                    ready.append(following)
