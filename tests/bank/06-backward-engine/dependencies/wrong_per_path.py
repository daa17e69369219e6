# misconception: goes through a node's edges once per path
# fails: a value used twice
# message: once per arrival
def dependencies(root):
    counts, waiting = {root: 0}, [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None:
                counts[following] = counts.get(following, 0) + 1
                waiting.append(following)
    return counts
