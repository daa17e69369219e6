# misconception: one run per path
# fails: each rule is called once
# message: collect a node's gradients first
def backward(root, grad=None, retain_graph=False):
    if root.node is None:
        raise RuntimeError("This tensor has no node.")
    if grad is None:
        if any(n != 1 for n in sizes(root.data)):
            raise RuntimeError("Pass grad for a root of several elements.")
        grad = ones_like(root.data)
    ran = []

    def visit(node, g):
        if node.saved is None:
            raise RuntimeError("released")
        if node.leaf is not None:
            node.leaf.grad = copy(g) if node.leaf.grad is None else node.leaf.grad + g
            return
        ran.append(node)
        for n, part in zip(node.next, node.rule(g)):
            if n is not None:
                visit(n, part)

    visit(root.node, grad)
    if not retain_graph:
        for node in ran:
            node.saved = None
