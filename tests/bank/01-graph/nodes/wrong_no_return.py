# misconception: forgets the return
# fails: an operand without gradient is no node
# message: If your function returned None, a `return` is missing.
class Visitor:

    def __init__(self, root):
        self.by_id = {id(root): root}
        self.frontier = [root]

    def run(self):
        while self.frontier:
            fresh = []
            for node in self.frontier:
                for child, _ in node.next_functions:
                    if child is not None and self.by_id.setdefault(id(child), child) is child:
                        fresh.append(child)
            self.frontier = [node for node in fresh if self.mark(node)]
        return [*self.by_id.values()]

    def mark(self, node):
        if not hasattr(self, 'expanded'):
            self.expanded = set()
        new = id(node) not in self.expanded
        self.expanded.add(id(node))
        return new

def nodes(root):
    Visitor(root).run()
