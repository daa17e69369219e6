"""Stand-ins for nodes: they look like nodes, and count comparisons."""

import sys

import pytest
import torch

from autograder.lab.small_world.counted import counted_chain, short_stack, steps_per_node


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


def linear(root):
    found, waiting = {id(root): root}, [root]
    while waiting:
        for below, _ in waiting.pop().next_functions:
            if id(below) not in found:
                found[id(below)] = below
                waiting.append(below)
    return list(found.values())


def searching(known):
    def walk(root):
        found = [root]
        for node in found:
            found.extend(below for below, _ in node.next_functions if not known(below, found))
        return found

    return walk


def test_linear_work_is_the_same_at_every_length():
    assert steps_per_node(linear, 300) == steps_per_node(linear, 600) < 100


@pytest.mark.parametrize(
    "known",
    [
        lambda node, found: node in found,
        lambda node, found: any(node is other for other in found),
        lambda node, found: id(node) in [id(other) for other in found],
    ],
)
def test_a_search_through_a_list_shows(known):
    assert steps_per_node(searching(known), 400) >= 200


def along_paths(root):
    return {root}.union(*[along_paths(below) for below, _ in root.next_functions])


def test_a_walk_along_paths_shows_on_doublings():
    assert steps_per_node(linear, 12, width=2) < 150
    assert steps_per_node(along_paths, 12, width=2) >= 1_000
    assert steps_per_node(along_paths, 12) < 150


def test_the_count_leaves_no_trace():
    tracer = sys.gettrace()
    steps_per_node(linear, 5)
    assert sys.gettrace() is tracer
    assert "id" not in globals()


def deep(calls):
    return 0 if not calls else 1 + deep(calls - 1)


def nested(calls):
    yield from nested(calls - 1) if calls else [0]


def test_a_short_stack_stops_recursion_and_nothing_else():
    usual = sys.getrecursionlimit()
    assert short_stack(lambda: deep(50)) == 50
    for call in (lambda: deep(150), lambda: list(nested(150))):
        with pytest.raises(RecursionError):
            short_stack(call)
    assert sys.getrecursionlimit() == usual
    assert len(short_stack(lambda: linear(counted_chain(2_000)[0]))) == 2_001


def test_a_short_stack_undoes_what_its_call_did_to_the_limit():
    usual = sys.getrecursionlimit()
    short_stack(lambda: sys.setrecursionlimit(12_345))
    assert sys.getrecursionlimit() == usual
