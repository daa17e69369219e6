# misconception: remembers leaves by the id of a root that may be gone
# fails: one graph after another
# message: remember nothing by id
_known = {}
def leaves(root):
    key = id(root)
    if key not in _known:
        found, seen, waiting = [], set(), [root]
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if type(node).__name__ == "AccumulateGrad":
                found.append(node.variable)
            waiting.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
        _known[key] = found
    return [leaf for leaf in _known[key] if leaf.requires_grad]
