# misconception: a shared node is listed per edge, but what lies below it only the first time
# fails: one entry per path
# fails: what lies below a shared node is listed along each path
# message: keep no set of visited nodes
def walk(fn):
    found, seen = [], set()

    def visit(node, depth):
        found.append((depth, type(node).__name__))
        if node in seen:
            return
        seen.add(node)
        for below, _ in node.next_functions:
            if below is not None:
                visit(below, depth + 1)

    visit(fn, 0)
    return found
