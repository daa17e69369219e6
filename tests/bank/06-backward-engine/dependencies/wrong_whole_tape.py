# misconception: counts edges from the whole tape, not from what the root reaches
# fails: consumers that the root does not reach
# fails: a root with consumers of its own
# message: nodes that the root reaches
import gc


def dependencies(root):
    counts, waiting = {root: 0}, [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None and following not in counts:
                counts[following] = 0
                waiting.append(following)
    tape = [thing for thing in gc.get_objects() if type(thing) is Node]
    for node in tape:
        for following in node.next:
            if following in counts:
                counts[following] += 1
    return counts
