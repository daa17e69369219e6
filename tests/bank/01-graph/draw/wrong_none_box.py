# misconception: draws a box for an operand without gradient
# fails: None has no box and no arrow
# fails: an operand without gradient is no box
# message: None is no node and has no box.
def draw(root):
    drawing = graphviz.Digraph()
    numbers, waiting = {root: "n0"}, [root]
    while waiting:
        node = waiting.pop()
        if node is None:
            drawing.node(numbers[node], "None")
            continue
        label = type(node).__name__
        if label == "AccumulateGrad":
            label += " " + str(tuple(node.variable.shape))
        drawing.node(numbers[node], label)
        for operand, _ in node.next_functions:
            if operand not in numbers:
                numbers[operand] = f"n{len(numbers)}"
                waiting.append(operand)
            drawing.edge(numbers[node], numbers[operand])
    return drawing
