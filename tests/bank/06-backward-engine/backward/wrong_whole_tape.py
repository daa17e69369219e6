# misconception: dependencies counted from the whole tape rather than from the root
# fails: two losses share a graph
# message: A leaf got nothing
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        if any(n != 1 for n in sizes(root.data)):
            raise RuntimeError("Pass grad for a root of several elements.")
        grad = ones_like(root.data)
    import gc

    reached, waiting = {root.node}, [root.node]
    while waiting:
        for n in waiting.pop().next:
            if n is not None and n not in reached:
                reached.add(n)
                waiting.append(n)
    if any(n.saved is None for n in reached):
        raise RuntimeError("released")
    missing = dict.fromkeys(reached, 0)
    for node in [thing for thing in gc.get_objects() if type(thing) is Node]:
        for n in node.next:
            if n in missing:
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
