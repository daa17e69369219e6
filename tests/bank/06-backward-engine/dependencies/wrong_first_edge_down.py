# misconception: follows the first edge down, and only looks at what stands beside that spine
# fails: what stands second goes on, too
# message: not the first alone
def dependencies(root):
    counts = {root: 0}
    node = root
    while node is not None:
        for following in node.next:
            if following is not None:
                counts[following] = counts.get(following, 0) + 1
        node = next((n for n in node.next if n is not None), None)
    return counts
