"""The small world records what torch records, and right engines over it agree with torch."""

import random
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.lab.small_world.against_torch import (
    edge_counts,
    leaves_of,
    random_program,
    steps,
    torch_edge_counts,
    torch_gradients,
    torch_steps,
)
from autograder.lab.small_world.arrays import Array
from autograder.lab.small_world.world import LAST, Node, Tensor, chain, record_runs
from tests.engines import answer, reference

BACKWARD = ["right_counting", "right_young_to_old", "right_heap_torch_methods"]
PORTABLE = BACKWARD[:2]  # written with the chapter's functions only


DEPENDENCIES, ORDER, ENGINE = reference("dependencies"), reference("order"), reference("backward")


def assert_same_gradients(leaves, wanted):
    for leaf, gradient in zip(leaves, wanted, strict=True):
        assert (leaf.grad is None) == (gradient is None)
        if gradient is not None:
            assert leaf.grad.shape == gradient.shape
            assert torch.allclose(leaf.grad, gradient, rtol=1e-10, atol=1e-10, equal_nan=True)


def program_of(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed % 2**31)
    program = random_program(rng.randint(1, 15), rng)
    return program, program.data()


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**40))
def test_the_reference_equals_torch_on_random_graphs(seed):
    program, data = program_of(seed)
    leaves = leaves_of(*data)
    root = program(*leaves)
    counts = edge_counts(DEPENDENCIES(root.node), leaves)
    assert counts == torch_edge_counts(program, *data)
    assert steps(ORDER(root.node), leaves) == torch_steps(program, *data)
    with record_runs() as runs:
        ENGINE(root)
    assert sorted(steps(runs, leaves)) == sorted(word for word in counts if not word.startswith("leaf"))
    assert_same_gradients(leaves, torch_gradients(program, *data))
    owned = [leaf.grad.data_ptr() for leaf in leaves if leaf.grad is not None and leaf.grad.numel()]
    assert len(set(owned)) == len(owned)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**40))
def test_two_roots_over_one_graph_accumulate_as_in_torch(seed):
    program, data = program_of(seed)
    leaves = leaves_of(*data)
    shared = program(*leaves)
    first, second = shared * 2.0, shared.exp() + leaves[0].sum()
    ENGINE(first, retain_graph=True)
    ENGINE(second)
    with pytest.raises(RuntimeError):
        ENGINE(first)

    copies = [d.clone().requires_grad_() for d in data]
    shared = program(*copies)
    (shared * 2.0).backward(retain_graph=True)
    (shared.exp() + copies[0].sum()).backward()
    assert_same_gradients(leaves, [leaf.grad for leaf in copies])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**40))
def test_the_same_engine_runs_without_torch_tensors(seed):
    program, data = program_of(seed)
    for name in PORTABLE:
        leaves = [Tensor(Array(d.tolist()), requires_grad=True) for d in data]
        answer("backward", name)(program(*leaves))
        for leaf, wanted in zip(leaves, torch_gradients(program, *data), strict=True):
            if wanted is not None:
                found = torch.tensor(leaf.grad.tolist(), dtype=torch.float64)
                assert found.shape == wanted.shape
                assert torch.allclose(found, wanted, rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", PORTABLE)
def test_plain_numbers(name):
    x, y = Tensor(3.0, requires_grad=True), Tensor(-2.0, requires_grad=True)
    answer("backward", name)((x * y - x).exp() + x.relu() * 4.0 - y.sum())
    a, b = (torch.tensor(v, requires_grad=True) for v in (3.0, -2.0))
    ((a * b - a).exp() + a.relu() * 4.0 - b.sum()).backward()
    assert (x.grad, y.grad) == pytest.approx((a.grad.item(), b.grad.item()))


@pytest.mark.parametrize("name", ["right_one_sum", "right_dimension_by_dimension"])
def test_unbroadcast_without_torch(name):
    unbroadcast = answer("unbroadcast", name)
    assert unbroadcast(Array([[1, 2, 3], [4, 5, 6]]), (2, 1)).tolist() == [[6.0], [15.0]]
    assert unbroadcast(Array([[1, 2, 3], [4, 5, 6]]), ()).tolist() == 21.0
    assert unbroadcast(5.0, ()) == 5.0


@pytest.mark.parametrize("name", BACKWARD)
def test_deep_chains_and_doublings(name):
    backward = answer("backward", name)
    x = Tensor(torch.tensor(1.0, dtype=torch.float64), requires_grad=True)
    backward(chain(x, 20_000))
    y = x
    for _ in range(60):
        y = y + y
    backward(y)
    assert x.grad == 1.0 + 2.0**60


def test_rules_change_nothing_and_may_share():
    a, b = leaves_of(torch.ones(2), torch.ones(2))
    grad = torch.tensor([3.0, 4.0])
    first, second = (a + b).node.rule(grad)
    assert first is grad and second is grad
    repeated = a.sum().node.rule(torch.tensor(5.0))[0]
    assert repeated.stride() == (0,)
    assert torch.equal(grad, torch.tensor([3.0, 4.0]))


def test_what_needs_no_gradient_has_no_node():
    a = Tensor(torch.ones(2), requires_grad=True)
    plain = Tensor(torch.ones(2)) * 3.0
    assert (plain.node, plain.requires_grad) == (None, False)
    product = a * plain
    assert product.node.next == (a.node, None)
    assert product.node.rule(torch.ones(2))[1] is None


def test_sequence_rises_and_accumulators_come_first():
    a = Tensor(torch.ones(2), requires_grad=True)
    one, two = a * 2.0, a + 1.0
    assert one.node.sequence < two.node.sequence < a.node.sequence == LAST
    assert a.node.leaf is a
    assert a.node.rule is None


def test_operands_come_in_either_order():
    a = Tensor(torch.tensor(2.0), requires_grad=True)
    assert [t.data.item() for t in (1.0 + a, 1.0 - a, 3.0 * a)] == [3.0, -1.0, 6.0]
    assert (1.0 - a).node.next == (None, a.node)


def test_a_released_rule_says_so():
    node = Tensor(torch.ones(2), requires_grad=True).exp().node
    node.saved = None
    with pytest.raises(RuntimeError, match="released"):
        node.rule(torch.ones(2))


def test_a_tensor_with_autograd_is_refused():
    with pytest.raises(TypeError, match="detach"):
        Tensor(torch.ones(2, requires_grad=True))


def test_addition_keeps_no_operand_alive():
    import weakref

    data = torch.ones(3)
    kept = weakref.ref(data)
    node = (Tensor(data) + Tensor(torch.ones(3), requires_grad=True)).node
    del data
    assert node.saved == () and kept() is None


def test_record_runs_nests():
    y = Tensor(torch.ones(()), requires_grad=True).exp()
    with record_runs() as outer:
        y.node.rule(torch.ones(()))
        with record_runs() as inner:
            y.node.rule(torch.ones(()))
    y.node.rule(torch.ones(()))
    assert (len(outer), len(inner)) == (2, 1)


def test_a_chain_of_a_given_kind():
    class Named(Node):
        pass

    end = chain(Tensor(torch.tensor(1.0), requires_grad=True), 3, Named)
    assert type(end.node) is Named
    assert len(answer("dependencies", "right_two_passes")(end.node)) == 4


def test_world_needs_no_torch():
    code = "import sys; import autograder.lab.small_world.world; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_program_says_the_same_in_both_worlds():
    program, data = program_of(7)
    assert torch.allclose(program(*leaves_of(*data)).data, program(*data))
    assert torch_steps(lambda a: (a * a).sum(), torch.ones(2)) == ["1 Sum", "0 Mul", "leaf 0"]
    one = torch.tensor(1.0)
    assert torch_gradients(lambda a, b: a * 2, one, one) == [torch.tensor(2.0), None]
