# misconception: remembers lists by the name of the root
# fails: one graph after another
# message: a list of its own
_known = {}
def nodes(root):
    key = root.name()
    if key not in _known:
        found, waiting = {root: None}, [root]
        while waiting:
            for operand, _ in waiting.pop().next_functions:
                if operand is not None and operand not in found:
                    found[operand] = None
                    waiting.append(operand)
        _known[key] = list(found)
    return _known[key]
