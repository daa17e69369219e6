# misconception: a strict drawing merges parallel edges
# fails: an operand that is used twice has two arrows
# fails: both edges of x * x
# message: Parallel edges became one.
def draw(root):
    drawing = graphviz.Digraph(strict=True)
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
            drawing.edge(numbers[node], numbers[operand])
    return drawing
