def nodes(root):
    """Depth first with a stack of iterators, the root first."""
    order, seen, stack = [root], {root}, [iter(root.next_functions)]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            continue
        node = entry[0]
        if node is None or node in seen:
            continue
        seen.add(node)
        order.append(node)
        stack.append(iter(node.next_functions))
    return order
