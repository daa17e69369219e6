# misconception: per-path recursion: draws shared edges once per path, and never ends on doublings
# fails: twelve doublings take twelve visits
# fails: sixty doublings
# message: Visit every node once
def draw(root):
    drawing = graphviz.Digraph()
    names = {}

    def add(node):
        name = names.setdefault(node, str(len(names)))
        label = type(node).__name__
        drawing.node(name, f"{label} {tuple(node.variable.shape)}" if label == "AccumulateGrad" else label)
        return name

    def below(node):
        for operand, _ in node.next_functions:
            if operand is not None:
                drawing.edge(add(node), add(operand))
                below(operand)

    add(root)
    below(root)
    return drawing
