# misconception: a list of nodes will do, its index is the box's name
# fails: a node is looked up, not searched for
# fails: looked up on longer chains, too
# message: grows with the square
def draw(root):
    dot = graphviz.Digraph()
    found = [root]
    for node in found:
        label = type(node).__name__
        if label == "AccumulateGrad":
            label += " " + str(tuple(node.variable.shape))
        dot.node(str(found.index(node)), label)
        for below, _ in node.next_functions:
            if below is not None:
                if below not in found:
                    found.append(below)
                dot.edge(str(found.index(node)), str(found.index(below)))
    return dot
