# misconception: writes the shape as torch.Size
# fails: a leaf's label has its shape
# fails: the shape of each leaf
# message: str(tuple(leaf.shape)), not torch.Size
def draw(root):
    drawing = graphviz.Digraph()
    numbers, waiting = {root: "n0"}, [root]
    while waiting:
        node = waiting.pop()
        label = type(node).__name__
        if label == "AccumulateGrad":
            label += " " + str(node.variable.shape)
        drawing.node(numbers[node], label)
        for operand, _ in node.next_functions:
            if operand is None:
                continue
            if operand not in numbers:
                numbers[operand] = f"n{len(numbers)}"
                waiting.append(operand)
            drawing.edge(numbers[node], numbers[operand])
    return drawing
