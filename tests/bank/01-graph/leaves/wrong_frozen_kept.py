# misconception: believes that freezing takes a leaf out of the graph
# fails: a leaf frozen since is left out
# message: Freezing leaves the node in the graph.
def leaves(root):
    found, seen, stack = [], set(), [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad":
            found.append(node.variable)
        stack.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
