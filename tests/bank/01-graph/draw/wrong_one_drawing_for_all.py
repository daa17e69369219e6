# misconception: empties one drawing for every call and hands it out
# fails: one drawing after another
# message: make a drawing of its own
drawing = graphviz.Digraph()
def draw(root):
    drawing.clear()
    numbers, waiting = {root: "0"}, [root]
    while waiting:
        node = waiting.pop()
        label = type(node).__name__
        if label == "AccumulateGrad":
            label += f"\n{tuple(node.variable.shape)}"
        drawing.node(numbers[node], label)
        for operand, _ in node.next_functions:
            if operand is None:
                continue
            if operand not in numbers:
                numbers[operand] = str(len(numbers))
                waiting.append(operand)
            drawing.edge(numbers[node], numbers[operand])
    return drawing
