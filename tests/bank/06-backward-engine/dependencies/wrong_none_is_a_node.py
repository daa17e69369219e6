# misconception: takes None for a node
# fails: operands without gradient
# message: None is no node
def dependencies(root):
    counts, waiting = {root: 0}, [root]
    while waiting:
        node = waiting.pop()
        for following in node.next:
            if following not in counts:
                counts[following] = 0
                waiting.append(following)
            counts[following] += 1
    return counts
