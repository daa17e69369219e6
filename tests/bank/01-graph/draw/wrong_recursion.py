# misconception: calls itself once per node
# fails: a chain of 150 nodes, on a short stack
# fails: as deep as you like
# message: calls itself once per node
def draw(root):
    drawing, numbers = graphviz.Digraph(), {}

    def box(node):
        if node in numbers:
            return numbers[node]
        numbers[node] = str(len(numbers))
        label = type(node).__name__
        if label == "AccumulateGrad":
            label += f" {tuple(node.variable.shape)}"
        drawing.node(numbers[node], label)
        for operand, _ in node.next_functions:
            if operand is not None:
                drawing.edge(numbers[node], box(operand))
        return numbers[node]

    box(root)
    return drawing
