"""Runs of nodes that save nothing, such as view after view, can share a box in a large drawing."""

from __future__ import annotations

from autograder.lab.graph.read import GraphFacts, NodeFacts


def _plain(node: NodeFacts) -> bool:
    return node.kind == "op" and not (node.saved or node.names or node.note or node.released)


def runs(facts: GraphFacts) -> list[list[int]]:
    """Partition the nodes into runs, in order of their first nodes; most runs are one node.

    A run is a path of unnamed operations that save nothing, each the only consumer of the next. The root stays alone.
    """
    consumers = [0] * len(facts.nodes)
    for node in facts.nodes:
        for to, _ in node.edges:
            if to is not None:
                consumers[to] += 1
    found: list[list[int]] = []
    taken = [False] * len(facts.nodes)
    for first in range(len(facts.nodes)):
        if taken[first]:
            continue
        run, node = [first], facts.nodes[first]
        while first and _plain(node):
            operands = [to for to, _ in node.edges if to is not None]
            if len(operands) != 1:
                break
            (following,) = operands
            if consumers[following] != 1 or not _plain(facts.nodes[following]):
                break
            run.append(following)
            node = facts.nodes[following]
        for number in run:
            taken[number] = True
        found.append(run)
    return found
