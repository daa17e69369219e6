# misconception: remembers walks by the id of a node that may be gone
# fails: one walk after another
# message: the id of a node that is gone
_known = {}
def walk(fn):
    if id(fn) in _known:
        return _known[id(fn)]
    found = [(0, type(fn).__name__)]
    for operand, _ in fn.next_functions:
        if operand is not None:
            found += [(depth + 1, name) for depth, name in walk(operand)]
    _known[id(fn)] = found
    return found
