# misconception: takes every entry of next_functions for a node
# fails: None has no box and no arrow
# message: next_functions holds None. Skip it.
def draw(root):
    drawing = graphviz.Digraph()
    numbers, waiting = {root: "0"}, [root]
    while waiting:
        node = waiting.pop()
        label = type(node).__name__
        if label == "AccumulateGrad":
            label += f"\n{tuple(node.variable.shape)}"
        drawing.node(numbers[node], label)
        for operand, _ in node.next_functions:
            if operand not in numbers:
                numbers[operand] = str(len(numbers))
                waiting.append(operand)
            drawing.edge(numbers[node], numbers[operand])
    return drawing
