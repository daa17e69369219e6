# misconception: draws the way data flowed, not the way next_functions points
# fails: arrows go from a node to its next functions
# message: Your arrows point from operand to result.
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
                numbers[operand] = f"n{len(numbers)}"
                waiting.append(operand)
            drawing.edge(numbers[operand], numbers[node])
    return drawing
