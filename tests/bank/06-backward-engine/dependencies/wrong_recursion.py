# misconception: recursion that dies at depth 1,000
# fails: a chain of 20,000 nodes
# message: Recursion ends near depth 1,000
def dependencies(root):
    counts = {root: 0}

    def visit(node):
        for following in node.next:
            if following is not None:
                new = following not in counts
                counts[following] = counts.get(following, 0) + 1
                if new:
                    visit(following)

    visit(root)
    return counts
