# misconception: the caller's own gradient is a delivery that the root waits for
# fails: a product of two leaves
# message: The root counts 0
def dependencies(root):
    counts, waiting = {root: 1}, [root]
    while waiting:
        for n in waiting.pop().next:
            if n is not None:
                if n not in counts:
                    counts[n] = 0
                    waiting.append(n)
                counts[n] += 1
    return counts
