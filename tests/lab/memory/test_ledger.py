"""The ledger against a count by hand, and against brute force over the graph itself."""

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from autograder.lab.memory.ledger import saved_ledger


class Apply(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x)


WIDTH = 6
MAKERS = {
    "linear": lambda: nn.Linear(WIDTH, WIDTH),
    "no bias": lambda: nn.Linear(WIDTH, WIDTH, bias=False),
    "norm": lambda: nn.LayerNorm(WIDTH),
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "dropout": lambda: nn.Dropout(0.5),
    "square": lambda: Apply(lambda x: x * x),
    "softmax": lambda: nn.Softmax(-1),
    "mask": lambda: Apply(lambda x: x.masked_fill(x > 0.5, 0.0)),
    "halves": lambda: Apply(lambda x: torch.cat([x[:, :3] * x[:, 3:], x[:, 3:].exp()], dim=1)),
    "index": lambda: Apply(lambda x: x[torch.tensor([0, 0, 1])]),
    "shift": lambda: Apply(lambda x: x + 1.0),
}


def saved_by_walking(out):
    """Every saved tensor, read off the nodes; no hook is involved."""
    found, todo, seen = [], [out.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in dir(node):
            if name.startswith("_saved_") and isinstance(getattr(node, name), torch.Tensor):
                found.append(getattr(node, name))
            if name.startswith("_saved_") and isinstance(getattr(node, name), (list, tuple)):
                found += [item for item in getattr(node, name) if isinstance(item, torch.Tensor)]
        todo += [parent for parent, _ in node.next_functions]
    return found


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(sorted(MAKERS)), min_size=1, max_size=7), st.booleans(), st.integers(2, 4))
def test_equals_brute_force_on_random_modules(names, needs_grad, batch):
    model = nn.Sequential(*[MAKERS[name]() for name in names])
    x = torch.randn(batch, WIDTH, requires_grad=needs_grad)
    torch.manual_seed(0)
    table = saved_ledger(model, x, params=model.parameters())
    torch.manual_seed(0)
    out = model(x)
    tensors = saved_by_walking(out) if out.requires_grad else []
    owned = {p.untyped_storage()._cdata for p in model.parameters()}
    distinct = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors}
    assert table.packed_bytes == sum(t.nbytes for t in tensors)
    assert sorted(e.shape for e in table) == sorted(tuple(t.shape) for t in tensors)
    assert table.storage_bytes == sum(nbytes for key, nbytes in distinct.items() if key not in owned)
    assert len({e.storage for e in table}) == len(distinct)


def test_figures_of_the_course():
    x, w1, w2 = (torch.ones(shape, requires_grad=True) for shape in ((64, 256), (256, 1024), (1024, 256)))
    table = saved_ledger(lambda: F.silu(x @ w1) @ w2)
    assert (len(table), table.packed_bytes) == (5, 2_686_976)
    redone = saved_ledger(
        lambda: torch.utils.checkpoint.checkpoint(lambda *a: F.silu(a[0] @ a[1]) @ a[2], x, w1, w2, use_reentrant=False)
    )
    assert (len(redone), redone.packed_bytes) == (3, 2_162_688)
    assert len(saved_ledger(lambda: F.silu(x.detach() @ w1) @ w2)) == 4


def test_linear_gelu_rows():
    layer = nn.Sequential(nn.Linear(40, 50), nn.GELU())
    rows = [(e.shape, e.nbytes) for e in saved_ledger(layer, torch.ones(8, 40, requires_grad=True))]
    assert rows == [((8, 40), 1280), ((40, 50), 8000), ((8, 50), 1600)]


def test_freed_addresses_are_not_mistaken():
    def forgetful(x):
        for _ in range(40):
            (x * 2.0).sin()

    table = saved_ledger(forgetful, torch.ones(5000, requires_grad=True))
    assert len(table.storages) == 40
    assert table.storage_bytes == 40 * 20_000


def test_empty_tensors_are_two_storages():
    a, b = torch.ones(0, requires_grad=True), torch.ones(0, requires_grad=True)
    assert len(saved_ledger(lambda: a * b).storages) == 2


def test_parameters_by_storage_and_from_a_generator():
    layer = nn.Linear(3, 5)
    table = saved_ledger(layer, torch.ones(2, 3, requires_grad=True), params=layer.parameters())
    assert [(e.shape, e.parameter) for e in table] == [((2, 3), False), ((3, 5), True)]
    assert (table.activation_bytes, table.storage_bytes) == (24, 24)


def test_a_view_counts_its_storage():
    big, w = torch.ones(100, 10), torch.ones(10, requires_grad=True)
    (entry,) = saved_ledger(lambda: big[0] * w).storages
    assert (entry.nbytes, entry.storage_bytes) == (40, 4000)


def test_nodes_are_named_and_the_table_shows_them():
    table = saved_ledger(lambda x: x.exp().sin(), torch.ones(3, requires_grad=True))
    assert [e.node for e in table] == ["ExpBackward0", "SinBackward0"]
    assert "ExpBackward0" in str(table)


@pytest.mark.parametrize("twice", [False, True])
def test_backward_inside_and_gradients_unharmed(twice):
    x = torch.tensor([0.5, 1.5], requires_grad=True)

    def step():
        (grad,) = torch.autograd.grad(x.exp().sum(), x, create_graph=twice)
        return torch.autograd.grad(grad.sum(), x)[0] if twice else grad

    result = []
    table = saved_ledger(lambda: result.append(step()))
    assert torch.allclose(result[0], x.exp())
    assert len(table) == (2 if twice else 1)  # exp's output; with a graph of backward also the incoming gradient


def test_nothing_stays_alive():
    x = torch.ones(1000, requires_grad=True)
    alive = []

    def fn():
        out = x.exp()
        alive.append(weakref.ref(out.untyped_storage()))
        return out

    saved_ledger(fn)
    gc.collect()
    assert alive[0]() is None
