# misconception: recursion without order: level by level instead of pre-order
# fails: pre-order
# fails: a branch is finished before the next begins
# message: That is level by level.
from collections import deque


def walk(fn):
    found, queue = [], deque([(0, fn)])
    while queue:
        depth, node = queue.popleft()
        found.append((depth, type(node).__name__))
        queue.extend((depth + 1, operand) for operand, _ in node.next_functions if operand is not None)
    return found
