# named by ids of nodes that are held
def draw(root):
    g = graphviz.Digraph(format="svg")
    g.attr(rankdir="LR")
    held = {}

    def add(node):
        held[id(node)] = node
        text = type(node).__name__
        g.node(str(id(node)), f"{text}\n{tuple(node.variable.shape)}" if text == "AccumulateGrad" else text)
        return node

    todo = [add(root)]
    while todo:
        node = todo.pop()
        for operand, number in node.next_functions:
            if operand is not None:
                if id(operand) not in held:
                    todo.append(add(operand))
                g.edge(str(id(node)), str(id(operand)), label=str(number))
    return g
