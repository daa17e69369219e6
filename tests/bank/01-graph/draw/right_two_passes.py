# nodes first, edges in a second pass; HTML labels
def draw(root) -> graphviz.Digraph:
    order = [root]
    place = {root: 0}
    for node in order:
        for operand, _ in node.next_functions:
            if operand is not None and operand not in place:
                place[operand] = len(order)
                order.append(operand)
    graph = graphviz.Digraph("backward", node_attr={"shape": "record", "fontname": "Courier"})
    for i, node in enumerate(order):
        if hasattr(node, "variable"):
            shape = str(tuple(node.variable.shape))
            graph.node(str(i), label=f"<<b>AccumulateGrad</b><br/>{shape}>", color="green")
        else:
            graph.node(str(i), label=f"{i}: {type(node).__name__}\\l")
    graph.edges((str(i), str(place[o])) for i, n in enumerate(order) for o, _ in n.next_functions if o is not None)
    return graph
