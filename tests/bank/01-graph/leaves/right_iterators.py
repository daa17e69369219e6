# a stack of iterators: depth first as recursion would, marked when entered
def leaves(root) -> list[torch.Tensor]:
    seen, found = {root}, {}

    def visit(node):
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found[id(node.variable)] = node.variable
        return iter(node.next_functions)

    path = [visit(root)]
    while path:
        for operand, _ in path[-1]:
            if operand is not None and operand not in seen:
                seen.add(operand)
                path.append(visit(operand))
                break
        else:
            path.pop()
    return list(found.values())
