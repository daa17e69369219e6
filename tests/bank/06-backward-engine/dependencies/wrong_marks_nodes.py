# misconception: a mark on a node says whether this call has met it
# fails: one root after another
# message: does anything of an earlier call remain
def dependencies(root):
    counts = {root: 0}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if getattr(node, "visited", False):
            continue
        node.visited = True
        for following in node.next:
            if following is not None:
                counts[following] = counts.get(following, 0) + 1
                waiting.append(following)
    return counts
