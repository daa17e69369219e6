import enum
import json
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import torch
from hypothesis import given

from autograder.checks.compare import compare
from autograder.checks.observe import MAX_ELEMENTS, observe, observe_error
from autograder.checks.plain import plain, show
from tests.strategies import shapes, values


class Color(enum.Enum):
    RED = 1


@given(values)
def test_an_observation_survives_json_and_equals_itself(value):
    observed = json.loads(json.dumps(observe(value), allow_nan=False))
    assert compare(observed, observe(value)) is None
    assert isinstance(show(observed), str)


@given(values, values)
def test_comparison_agrees_with_equality_of_type_and_value(one, two):
    if repr(one) == repr(two):
        assert compare(observe(one), observe(two)) is None
    elif type(one) is type(two) and type(one) in (bool, int, str):
        assert compare(observe(one), observe(two)) is not None


@given(shapes)
def test_a_tensor_keeps_values_shape_and_dtype(shape):
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
    assert plain(observe(x)) == x.tolist()
    assert compare(observe(x), observe(x.clone())) is None
    assert compare(observe(x.double()), observe(x)) is not None
    if x.numel():
        assert compare(observe(x + 1), observe(x)) is not None


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (torch.Size([2, 3]), (2, 3)),
        (torch.nn.Parameter(torch.ones(2)), torch.ones(2)),
        (torch.ones(2, requires_grad=True), torch.ones(2)),
        (np.float64(1.5), 1.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (torch.ones(3).expand(2, 3), torch.ones(2, 3)),
        (float("nan"), float("nan")),
        (3, 3.0),
    ],
)
def test_counts_as(value, same):
    assert compare(observe(value), observe(same)) is None


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (3.0, 3),
        (True, 1),
        (1, True),
        ([1], (1,)),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ("1", 1),
        (None, 0),
        (torch.ones(1), [1.0]),
        (torch.ones(2), np.ones(2, dtype=np.float32)),
        (torch.float32, "torch.float32"),
        (torch.device("cpu"), "cpu"),
        (Color.RED, 1),
        (float("inf"), float("-inf")),
        (1 + 2j, 1.0),
    ],
)
def test_differs(value, other):
    assert compare(observe(value), observe(other))


def test_list_and_tuple_differ_and_the_message_says_so():
    assert compare(observe([1, 2]), observe((1, 2))) == "expected a tuple ((1, 2)), got a list ([1, 2])."


def test_the_message_says_where():
    assert compare(observe({"a": [1, 2]}), observe({"a": [1, 3]})) == "At ['a'][1]: expected 3, got 2."
    assert "At [1, 0]" in compare(observe(torch.zeros(2, 2)), observe(torch.tensor([[0.0, 0], [1, 0]])))


class Liar(list):
    def __eq__(self, other):
        return True

    __hash__ = None


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    "value", [Liar([1]), Pair(1, 2), OrderedDict(), object(), {1: 2}, {"a": object()}, lambda: 1, {1, 2}, b"x", int]
)
def test_what_is_no_plain_data_says_so_and_equals_nothing(value):
    observed = observe(value)
    assert set(observed) == {"opaque"} and observed["opaque"].endswith(".")
    assert compare(observed, observed)


def test_what_is_no_plain_data_is_reported_with_its_place():
    assert observe(object())["opaque"].startswith("This is an object; ")
    assert observe([1, {"a": object()}])["opaque"].startswith("At [1]['a']: this is an object; ")
    assert observe((0, [{1: 2}]))["opaque"].startswith("At [1][0]: this dict has a key of type int")
    assert observe([[1], [0] * MAX_ELEMENTS])["opaque"].startswith("This value has more than")


def test_size_is_bounded_without_walking_or_copying():
    assert "opaque" in observe([0] * (MAX_ELEMENTS + 1))
    assert "opaque" in observe(torch.zeros(1).expand(10**9, 10**3))
    assert "opaque" in observe(10**4000)
    nest = []
    for _ in range(10_000):
        nest = [nest]
    assert "opaque" in observe(nest)
    loop = []
    loop.append(loop)
    assert "opaque" in observe(loop)
    assert "opaque" not in observe(list(range(MAX_ELEMENTS - 1)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tolerance_fits_the_dtype(dtype):
    steps = {torch.float16: 1e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5, torch.float64: 1e-10}
    x = torch.ones(1, dtype=dtype)
    near, far = (1 + steps[dtype] * 0.9), (1 + steps[dtype] * 4)
    assert compare(observe((x * near).to(dtype)), observe(x)) is None
    assert compare(observe((x * far).to(dtype)), observe(x)) is not None
    assert compare(observe((x * far).to(dtype)), observe(x), rtol=0.5) is None


def test_an_error_names_its_bases_and_survives_a_broken_text():
    class Odd(RuntimeError):
        def __str__(self):
            raise ValueError

    seen = observe_error(Odd())["error"]
    assert seen["type"] == "Odd" and "RuntimeError" in seen["mro"] and seen["text"] == ""


@pytest.mark.parametrize(
    "forged",
    [
        {"tensor": {"dtype": "float32", "shape": [10**9], "data": []}},
        {"tensor": {"dtype": "float32", "shape": [-1], "data": []}},
        {"tensor": 3},
        {"tensor": {"dtype": "float32", "shape": [1], "data": [{"float": "abc"}]}},
        {"float": "1e999"},
        {"list": 3},
        {"complex": ["a", "b"]},
        {"list": [1], "tuple": [1]},
        {"nonsense": 1},
        {"error": 1},
        [1],
        {"opaque": 1},
    ],
)
def test_a_forged_observation_is_different_and_never_an_error(forged):
    for honest in (torch.ones(1), 1.0, [1], 1 + 1j, "x", None):
        assert compare(forged, observe(honest))
    show(forged)
