from collections import defaultdict


def backward(root, grad=None, retain_graph=False):
    """Sums that the engine made itself are its own: further arrivals are added in place, and a leaf takes them over."""
    if root.node is None:
        raise RuntimeError("no node")
    if grad is None:
        if root.data.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        grad = torch.ones_like(root.data)
    edges, stack, seen = defaultdict(int), [root.node], {root.node}
    while stack:
        node = stack.pop()
        if node.leaf is None and node.saved is None:
            raise RuntimeError(f"{node.name} has been released")
        for below in filter(None, node.next):
            edges[below] += 1
            if below not in seen:
                seen.add(below)
                stack.append(below)
    arrived, own, ready = {root.node: grad}, set(), [root.node]
    while ready:
        node = ready.pop()
        total = arrived.pop(node)
        if node.leaf is not None:
            if node.leaf.grad is None:
                node.leaf.grad = total if node in own else total.clone(memory_format=torch.contiguous_format)
            else:
                node.leaf.grad += total
            continue
        parts = node.rule(total)
        if not retain_graph:
            node.saved = None
        for below, part in zip(node.next, parts):
            if below is None:
                continue
            if below not in arrived:
                arrived[below] = part
            elif below in own:
                arrived[below] += part
            else:
                arrived[below] = arrived[below] + part
                own.add(below)
            edges[below] -= 1
            if not edges[below]:
                ready.append(below)
