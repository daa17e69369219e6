def draw(root):
    dot = graphviz.Digraph("graph", graph_attr={"rankdir": "TB"})
    dot.attr("node", shape="record", fontname="monospace")
    seen, stack, leaves = set(), [root], []
    edges = []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        name = f"n{id(node)}"  # every node is held by `seen`
        if hasattr(node, "variable"):
            leaves.append((name, node))
        else:
            dot.node(name, label=f"<<b>{type(node).__name__}</b>>", color="blue")
        for below, number in node.next_functions:
            if below:
                stack.append(below)
                edges.append((name, f"n{id(below)}"))
    with dot.subgraph(name="cluster_leaves") as box:
        box.attr(rank="same")
        for name, node in leaves:
            box.node(name, label=f"AccumulateGrad\\n{tuple(node.variable.shape)}\\l", fillcolor="gray", style="filled")
    dot.edges(edges)
    return dot
