def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        if any(n != 1 for n in sizes(root.data)):
            raise RuntimeError("Pass grad for a root of several elements.")
        grad = ones_like(root.data)
    # A consumer is always younger than what it consumes: operations from young to old, then the leaves.
    reached, waiting = {root.node}, [root.node]
    while waiting:
        for n in waiting.pop().next:
            if n is not None and n not in reached:
                reached.add(n)
                waiting.append(n)
    if any(node.saved is None for node in reached):
        raise RuntimeError("A node below this root was released.")
    operations = sorted((n for n in reached if n.leaf is None), key=lambda n: n.sequence, reverse=True)
    received = {node: [] for node in reached}
    received[root.node].append(grad)
    for node in operations:
        total = received[node][0]
        for part in received[node][1:]:
            total = total + part
        for n, part in zip(node.next, node.rule(total)):
            if n is not None:
                received[n].append(part)
        if not retain_graph:
            node.saved = None
    for node in reached:
        if node.leaf is not None:
            for part in received[node]:
                if node.leaf.grad is None:
                    node.leaf.grad = copy(part)
                else:
                    node.leaf.grad += part
