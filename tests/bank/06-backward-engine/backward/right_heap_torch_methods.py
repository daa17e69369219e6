import heapq


def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("element 0 does not require grad")
    if grad is None:
        if root.data.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        grad = torch.ones_like(root.data)
    edges, stack, seen = {}, [root.node], {root.node}
    while stack:
        node = stack.pop()
        for child in node.next:
            if child is None:
                continue
            edges[child] = edges.get(child, 0) + 1
            if child not in seen:
                seen.add(child)
                stack.append(child)
    if any(node.leaf is None and node.saved is None for node in seen):
        raise RuntimeError("Trying to backward through the graph a second time")
    inputs = {root.node: grad.clone()}
    heap, pushed = [(-root.node.sequence, 0, root.node)], 1
    while heap:
        node = heapq.heappop(heap)[2]
        incoming = inputs.pop(node)
        if node.leaf is not None:
            if node.leaf.grad is None:
                node.leaf.grad = torch.zeros_like(node.leaf.data)
            node.leaf.grad.add_(incoming)
            continue
        for child, out in zip(node.next, node.rule(incoming)):
            if child is None:
                continue
            inputs[child] = out if child not in inputs else torch.add(inputs[child], out)
            edges[child] -= 1
            if not edges[child]:
                heapq.heappush(heap, (-child.sequence, pushed, child))
                pushed += 1
        if not retain_graph:
            node.saved = None
