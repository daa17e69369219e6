# misconception: leaves accumulators out
# fails: a product of two leaves
# message: The accumulators are missing
def dependencies(root):
    counts, waiting = {root: 0}, [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None and following.leaf is None:
                if following not in counts:
                    counts[following] = 0
                    waiting.append(following)
                counts[following] += 1
    return counts
