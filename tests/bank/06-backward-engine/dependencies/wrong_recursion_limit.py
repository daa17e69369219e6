# misconception: recursion is fine once the limit is high enough
# fails: the recursion limit is left as it was
# message: belongs to the whole process
import sys


def dependencies(root):
    sys.setrecursionlimit(1_000_000)
    counts = {root: 0}

    def visit(node):
        for following in node.next:
            if following is not None:
                if following in counts:
                    counts[following] += 1
                else:
                    counts[following] = 1
                    visit(following)

    visit(root)
    return counts
