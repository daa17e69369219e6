# misconception: leaves the loop at the first None
# fails: None has no box and no arrow
# message: Skip it, and go on with the next.
def draw(root):
    drawing = graphviz.Digraph()
    numbers, waiting = {root: "0"}, [root]
    while waiting:
        node = waiting.pop()
        label = type(node).__name__
        if not node.next_functions:
            label = f"AccumulateGrad {list(node.variable.shape)} {tuple(node.variable.shape)}"
        drawing.node(numbers[node], label)
        for operand, _ in node.next_functions:
            if operand is None:
                break
            if operand not in numbers:
                numbers[operand] = str(len(numbers))
                waiting.append(operand)
            drawing.edge(numbers[node], numbers[operand])
    return drawing
