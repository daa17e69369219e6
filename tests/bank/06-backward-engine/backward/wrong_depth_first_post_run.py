# misconception: depth-first, run in post-order: inputs before consumers
# fails: a value is not handed on before it is complete
# message: Its node may run when both have delivered
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        if any(n != 1 for n in sizes(root.data)):
            raise RuntimeError("Pass grad for a root of several elements.")
        grad = ones_like(root.data)
    post, seen = [], set()

    def visit(node):
        if node is None or node in seen:
            return
        seen.add(node)
        for n in node.next:
            visit(n)
        post.append(node)

    visit(root.node)
    if any(n.saved is None for n in post):
        raise RuntimeError("released")
    buffers = {root.node: grad}
    for node in post:  # children first: nothing has arrived yet
        if node not in buffers:
            continue
        g = buffers.pop(node)
        if node.leaf is not None:
            node.leaf.grad = copy(g) if node.leaf.grad is None else node.leaf.grad + g
            continue
        for n, part in zip(node.next, node.rule(g)):
            if n is not None:
                buffers[n] = buffers[n] + part if n in buffers else part
        if not retain_graph:
            node.saved = None
    for node, g in buffers.items():
        if node.leaf is not None:
            node.leaf.grad = copy(g) if node.leaf.grad is None else node.leaf.grad + g
