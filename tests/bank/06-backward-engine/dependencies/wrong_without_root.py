# misconception: leaves the root out
# fails: a product of two leaves
# message: The root is missing
def dependencies(root):
    counts, waiting = {}, [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None:
                if following not in counts:
                    counts[following] = 0
                    waiting.append(following)
                counts[following] += 1
    return counts
