# misconception: leaves the loop at the first None
# fails: operands without gradient
# message: the next entry may be one
def dependencies(root):
    counts = {root: 0}
    waiting = [root]
    while waiting:
        for following in waiting.pop().next:
            if following is None:
                break
            else:
                if following not in counts:
                    counts[following] = 0
                    waiting.append(following)
                counts[following] += 1
    return counts
