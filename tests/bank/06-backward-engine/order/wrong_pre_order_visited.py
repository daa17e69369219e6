# misconception: pre-order with a visited set
# fails: two consumers
# message: 0 Mul ran before its consumer
def order(root):
    ran = []

    def visit(node):
        if node is None or node in ran:
            return
        ran.append(node)
        for n in sorted((n for n in node.next if n is not None), key=lambda n: -n.sequence):
            visit(n)

    visit(root)
    return ran
