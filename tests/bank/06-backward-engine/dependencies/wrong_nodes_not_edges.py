# misconception: counts consumers, not edges
# fails: the same leaf twice
# message: Count edges, not nodes
def dependencies(root):
    counts, waiting = {root: 0}, [root]
    while waiting:
        for following in {n for n in waiting.pop().next if n is not None}:
            if following not in counts:
                counts[following] = 0
                waiting.append(following)
            counts[following] += 1
    return counts
