# misconception: sorts all nodes by sequence, ready or not
# fails: two branches
# message: The root runs first
def order(root):
    reached, waiting = {root: None}, [root]
    while waiting:
        for n in waiting.pop().next:
            if n is not None and n not in reached:
                reached[n] = None
                waiting.append(n)
    return sorted(reached, key=lambda n: n.sequence, reverse=True)
