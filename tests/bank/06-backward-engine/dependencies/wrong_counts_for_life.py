# misconception: keeps the counts of earlier calls
# fails: one root after another
# message: a variable that outlives the call
_counts = {}

def dependencies(root):
    counts = _counts
    counts[root] = 0
    waiting = [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None:
                if following not in counts:
                    counts[following] = 0
                    waiting.append(following)
                counts[following] += 1
    return counts
