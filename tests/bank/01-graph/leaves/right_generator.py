from collections import deque


def leaves(root):
    def nodes_in_preorder():
        seen = set()
        queue = deque([root])
        while queue:
            node = queue.popleft()
            if node is None or node in seen:
                continue
            seen.add(node)
            yield node
            queue.extendleft(pair[0] for pair in reversed(node.next_functions))

    accumulators = (node for node in nodes_in_preorder() if node.name().endswith("AccumulateGrad"))
    return [node.variable for node in accumulators if node.variable.requires_grad]
