# misconception: follows the first edge down to count, and only looks at what stands beside that spine
# fails: what stands second goes on, too
# message: not the first alone
def order(root):
    met, node = [root], root
    while node is not None:
        for following in node.next:
            if following is not None and following not in met:
                met.append(following)
        node = next((n for n in node.next if n is not None), None)
    operations = sorted((n for n in met if n.leaf is None), key=lambda n: -n.sequence)
    ran, missing = [], {}
    for n in met:
        for following in n.next:
            if following is not None:
                missing[following] = missing.get(following, 0) + 1
    if root.leaf is not None:
        return [root]
    for n in operations:
        ran.append(n)
        for following in n.next:
            if following is not None:
                missing[following] -= 1
                if missing[following] == 0 and following.leaf is not None:
                    ran.append(following)
    return ran
