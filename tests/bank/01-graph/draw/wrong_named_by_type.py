# misconception: names boxes by type, so that equal types become one box
# fails: one box per node
# message: Two boxes became one: they have the same name.
def draw(root):
    drawing = graphviz.Digraph()
    numbers, waiting = {root: "n0"}, [root]
    while waiting:
        node = waiting.pop()
        label = type(node).__name__
        if label == "AccumulateGrad":
            label += " " + str(tuple(node.variable.shape))
        drawing.node(numbers[node], label)
        for operand, _ in node.next_functions:
            if operand is None:
                continue
            if operand not in numbers:
                numbers[operand] = type(operand).__name__
                waiting.append(operand)
            drawing.edge(numbers[node], numbers[operand])
    return drawing
