# misconception: keeps the set of seen nodes for all calls
# fails: one graph after another
# message: a list of its own
_seen = set()
def nodes(root):
    found, waiting = [root], [root]
    _seen.add(root)
    while waiting:
        for operand, _ in waiting.pop().next_functions:
            if operand is not None and operand not in _seen:
                _seen.add(operand)
                found.append(operand)
                waiting.append(operand)
    return found
