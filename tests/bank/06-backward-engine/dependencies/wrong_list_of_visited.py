# misconception: looks nodes up in a list: quadratic
# fails: nodes are looked up, not searched for
# message: Linear time is asked
def dependencies(root):
    visited, counts = [root], {root: 0}
    for node in visited:
        for following in node.next:
            if following is not None:
                counts[following] = counts.get(following, 0) + 1
                if following not in visited:
                    visited.append(following)
    return counts
