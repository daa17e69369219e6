"""Stand-ins for nodes: they look like nodes, and count comparisons."""

import torch

from autograder.lab.counted import counted_chain


def test_a_chain_ends_at_a_leaf():
    node, _ = counted_chain(3)
    names = []
    while True:
        names.append(type(node).__name__)
        if not node.next_functions:
            break
        node = node.next_functions[0][0]
    assert names == ["AddBackward0"] * 3 + ["AccumulateGrad"]
    assert node.variable.requires_grad
    assert isinstance(node, torch.autograd.graph.Node)


def test_a_list_compares_and_a_set_does_not():
    node, tally = counted_chain(200)
    chain = [node]
    while chain[-1].next_functions:
        chain.append(chain[-1].next_functions[0][0])
    assert tally == [0]
    held = set(chain)
    assert all(one in held for one in chain)
    assert tally[0] <= 5
    assert all(one in chain for one in chain)
    assert tally[0] > 200 * 200 / 2 - 200
