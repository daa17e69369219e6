"""Arrays without torch compute what torch computes."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.lab.small_world import arrays
from autograder.lab.small_world.against_torch import random_program
from autograder.lab.small_world.arrays import Array
from autograder.lab.small_world.world import Tensor


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 10))
def test_random_programs_agree_with_torch(seed, length):
    program = random_program(length, random.Random(seed))
    torch.manual_seed(seed)
    data = program.data()
    ours = program(*(Tensor(Array(d.tolist())) for d in data)).data
    assert torch.allclose(
        torch.tensor(ours.tolist(), dtype=torch.float64), program(*data), rtol=1e-9, atol=1e-9, equal_nan=True
    )


def test_shape_and_values_of_nested_lists():
    a = Array([[1, 2, 3], [4, 5, 6]])
    assert (a.shape, a.tolist()) == ((2, 3), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert Array(7).tolist() == 7.0
    assert a.mT.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match="one length"):
        Array([[1, 2], [3]])


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match="do not broadcast"):
        Array([1, 2, 3]) + Array([1, 2])
    with pytest.raises(ValueError, match="does not broadcast"):
        Array([1, 2]).broadcast_to((2, 3))
    with pytest.raises(ValueError, match="do not multiply"):
        Array([[1, 2]]) @ Array([[1, 2]])
    with pytest.raises(ValueError, match="cannot take"):
        Array([1, 2, 3]).reshape((2, 2))


def test_an_empty_dim_sums_everything_as_in_torch():
    assert arrays.sum_over(Array([[1, 2], [3, 4]]), ()).tolist() == 10.0
    assert arrays.sum_over(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), ()) == 10.0


def test_reshape_shares_memory_and_copy_does_not():
    a = Array([1, 2])
    view, own = arrays.reshape(a, (2, 1)), arrays.copy(a)
    a += Array([1, 1])
    assert view.tolist() == [[2.0], [3.0]]
    assert own.tolist() == [1.0, 2.0]


def test_numbers_are_arrays_without_dimensions():
    assert arrays.sizes(3.0) == ()
    assert (arrays.sum_over(3.0, ()), arrays.reshape(3.0, ()), arrays.ones_like(3.0), arrays.copy(3.0)) == (
        3.0,
        3.0,
        1.0,
        3.0,
    )
    assert arrays.broadcast_to(3.0, (2,)).tolist() == [3.0, 3.0]
    assert arrays.reshape(3.0, (1, 1)).tolist() == [[3.0]]


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, -1, (0, 2), (1,), None])
def test_sum_over_dimensions(dim, keepdim):
    data = torch.arange(24.0).reshape(2, 3, 4)
    wanted = data.sum(dim=dim, keepdim=keepdim)
    found = Array(data.tolist()).sum(dim, keepdim)
    assert found.shape == tuple(wanted.shape)
    assert found.tolist() == wanted.tolist()
