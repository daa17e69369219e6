# misconception: takes every entry of next_functions for a node
# fails: data is no leaf of the graph
# message: next_functions holds None. Skip it.
def leaves(root):
    found, seen, waiting = [], set(), [root]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable)
        waiting.extend(operand for operand, _ in reversed(node.next_functions))
    return found
