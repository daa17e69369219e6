"""The drawing of a graph, read back from its DOT text: what stands in it, once, and what it leaves alone."""

import gc
import re
import sys
import weakref
from pathlib import Path

import pytest
import torch
from graphviz.backend import dot_command
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.lab import draw_graph, read_dot
from autograder.lab.graph.style import DARK, LIGHT, bytes_text


def shown(root, **options):
    """The drawing as the test itself would get it: the helpers below are no place to look for names."""
    frame = sys._getframe(1)
    while frame.f_code.co_name in ("boxes", "box"):
        frame = frame.f_back
    names = {name: value for name, value in frame.f_locals.items() if name not in ("root", "options")}
    return read_dot(draw_graph(root, **{"names": names, **options}).source)


def boxes(root, **options):
    """Texts of the boxes, blanks squeezed."""
    return [re.sub(r"\s+", " ", text).strip() for text in shown(root, **options).labels.values()]


def box(root, word, **options):
    (text,) = [text for text in boxes(root, **options) if word in text]
    return text


@pytest.fixture
def product():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    return x, w, (x * w).sum()


def test_nodes_leaves_shapes_and_references(product):
    x, w, y = product
    assert x.is_leaf and w.is_leaf
    assert boxes(y) == [
        "SumBackward0 y ()",
        "MulBackward0 (3,) other (3,) float32 = w self (3,) float32 = x",
        "x (3,) float32 12 B AccumulateGrad",
        "w (3,) float32 12 B AccumulateGrad",
    ]
    assert len(shown(y).edges) == 3


def test_a_node_and_its_tensor_give_the_same_drawing(product):
    _, _, y = product
    assert draw_graph(y).source == draw_graph(y.grad_fn).source


def test_a_leaf_can_be_the_root():
    v = torch.zeros(2, 3, requires_grad=True)
    assert boxes(v) == ["v (2, 3) float32 24 B AccumulateGrad"]


@pytest.mark.parametrize(
    ("root", "error", "words"),
    [(torch.ones(2), ValueError, "has no graph"), ("loss", TypeError, "not str"), (None, TypeError, "NoneType")],
)
def test_what_has_no_graph_is_refused_in_one_sentence(root, error, words):
    with pytest.raises(error, match=words):
        draw_graph(root)


def test_an_unknown_theme_is_refused(product):
    with pytest.raises(ValueError, match="not 'pink'"):
        draw_graph(product[2], theme="pink")


def test_parallel_edges_are_both_drawn():
    v = torch.ones(2, requires_grad=True)
    assert shown(v * v).edges == [("n0", "n1")] * 2


def test_a_shared_storage_has_its_bytes_once():
    v = torch.randn(8, requires_grad=True)
    h = torch.relu(v * 2)
    loss = (h * h.view(2, 4).reshape(8)).sum()
    text = " ".join(boxes(loss))
    assert text.count("h: 32 B") == 1
    assert text.count("= h") == 2
    assert "v: 32 B" not in text, "a leaf's bytes stand at the leaf"


def test_a_part_of_a_large_storage_says_so():
    big = torch.randn(1024)
    v = torch.randn(4, requires_grad=True)
    assert "big: 16 B of 4 KiB" in box(v * big[:4], "MulBackward0")


def test_an_expanded_tensor_counts_its_storage():
    v = torch.randn(4, requires_grad=True)
    one = torch.randn(1)
    assert "one: 4 B" in box(v * one.expand(4), "MulBackward0")


def test_none_edges_are_left_out_or_shown_on_request():
    v = torch.randn(4, requires_grad=True)
    assert len(shown(v * torch.randn(4)).edges) == 1
    assert "None" in boxes(v * torch.randn(4), none_edges=True)


def test_names_come_from_locals_modules_containers_and_a_mapping():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2))
    params = [torch.randn(2, requires_grad=True)]
    table = {"scale": torch.randn(2, requires_grad=True)}
    out = (model(torch.randn(1, 3)) * params[0] * table["scale"]).sum()
    text = " ".join(boxes(out))
    for name in ("model[0].weight", "model[0].bias", "params[0]", "table['scale']"):
        assert name in text
    given = " ".join(boxes(out, names=model))
    assert "[0].weight" in given or "0.weight" in given
    assert "gain" in " ".join(boxes(out, names={"gain": params[0]}))


def test_a_linear_layers_saved_view_refers_to_its_weight():
    layer = torch.nn.Linear(3, 2)
    x = torch.randn(5, 3, requires_grad=True)
    assert "mat2 (3, 2) float32 = layer.weight" in box(layer(x), "AddmmBackward0")


def test_a_released_graph_says_so_and_saved_nothing_is_no_release(product):
    _, _, y = product
    y.backward()
    assert "saved tensors released" in box(y, "MulBackward0")
    assert "released" not in box(y, "SumBackward0")
    assert "released by a backward pass" in draw_graph(y).source


def test_a_change_in_place_is_shown_with_both_versions():
    v = torch.randn(3, requires_grad=True)
    h = v * 1
    out = h.exp()
    saved_elsewhere = h.sin()
    with torch.no_grad():
        h.add_(1)
    assert "saved at v0, now v1" in box(saved_elsewhere, "SinBackward0")
    assert "v0" not in box(out, "ExpBackward0")
    assert "v0" in box(out, "ExpBackward0", versions=True)


def test_values_that_are_no_tensors_are_shown_on_request():
    v = torch.randn(3, 2, requires_grad=True)
    assert "dim" not in box(v.sum(1), "SumBackward1")
    assert "keepdim False" in box(v.sum(1), "SumBackward1", values=True)


def test_a_tuple_keeps_its_places():
    v = torch.randn(5, 4, requires_grad=True)
    assert "indices[1] (2,) int64 16 B" in box(v[:, torch.tensor([0, 3])], "IndexBackward0")


class Keeper(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, None)
        ctx.kept = x * 2
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def test_a_custom_function_shows_saved_tensors_and_what_hangs_on_ctx():
    v = torch.randn(4, requires_grad=True)
    out = Keeper.apply(v, 3)
    text = box(out, "KeeperBackward", values=True)
    assert "[0] (4,) float32 = v" in text
    assert "ctx.kept (4,) float32 16 B" in text
    assert "ctx.factor 3" in text
    assert "[1]" not in text


def test_nothing_that_a_hook_packed_is_unpacked():
    v = torch.randn(4, requires_grad=True)

    def unpack(packed):
        raise AssertionError("the drawing unpacked a saved tensor")

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: "elsewhere", unpack):
        out = v * v
    assert "packed by a hook as str" in box(out, "MulBackward0")


def test_a_checkpoint_is_not_recomputed():
    runs = []
    v = torch.randn(4, requires_grad=True)
    out = torch.utils.checkpoint.checkpoint(lambda x: runs.append(1) or x.exp(), v, use_reentrant=False)
    draw_graph(out)
    assert len(runs) == 1


def test_a_frozen_leaf_and_a_scalar():
    v = torch.tensor(2.0, requires_grad=True)
    out = v.exp()
    v.requires_grad_(False)
    assert "v () float32 4 B AccumulateGrad, frozen" in boxes(out)


def test_several_outputs_are_told_apart_on_the_edges():
    a, b = torch.randn(2, 3, requires_grad=True).unbind()
    source = draw_graph(a + b).source
    assert '[label=" 0"]' in source
    assert '[label=" 1"]' in source


def test_sparse_and_inference_tensors_are_no_obstacle():
    with torch.inference_mode():
        made = torch.ones(3)
    v = torch.randn(3, requires_grad=True)
    assert boxes(v + made, names={"made": made})
    matrix = torch.eye(3).to_sparse()
    assert boxes(torch.sparse.mm(matrix, torch.randn(3, 3, requires_grad=True)))


def test_notes_stand_at_their_nodes(product):
    _, _, y = product
    assert "first of all" in box(y, "SumBackward0", notes={y.grad_fn: "first of all"})


def test_a_drawing_keeps_nothing_alive():
    v = torch.randn(3, requires_grad=True)
    activation = (v * 2).exp()
    out = activation.sum()
    drawing = draw_graph(out)
    gone = weakref.ref(activation)
    del activation, out
    gc.collect()
    assert gone() is None
    assert "ExpBackward0" in drawing.source


def test_a_long_chain_is_cut_and_says_so():
    link = torch.zeros((), requires_grad=True)
    for _ in range(20_000):
        link = link + 1
    drawing = draw_graph(link, max_nodes=50)
    assert len(read_dot(drawing.source).labels) <= 50
    assert "More nodes follow than are drawn." in drawing.source
    assert len(drawing.source) < 100_000
    whole = draw_graph(link, max_nodes=30_000, fold=True)
    assert len(read_dot(whole.source).labels) <= 5


def test_sixty_doublings_are_sixty_one_boxes():
    v = torch.ones(2, requires_grad=True)
    for _ in range(60):
        v = v + v
    graph = shown(v, fold=False)
    assert (len(graph.labels), len(graph.edges)) == (61, 120)


def test_a_run_of_views_shares_a_box_in_a_large_drawing():
    v = torch.randn(4, 4, requires_grad=True)
    out = (v.exp().t().reshape(2, 8).view(4, 4).t() * 2).sum()
    assert any(text.count("Backward0") > 2 for text in boxes(out, fold=True))
    assert all(text.count("Backward0") <= 1 for text in boxes(out))


def test_the_caption_counts_bytes_and_storages():
    x = torch.randn(64, 256)
    w1 = torch.randn(256, 1024, requires_grad=True)
    w2 = torch.randn(1024, 256, requires_grad=True)
    source = draw_graph(torch.nn.functional.silu(x @ w1) @ w2).source
    assert "5 nodes, 2 of them leaves. Saved: 576 KiB in 3 storages, and 1 leaf by reference." in source


def surfaces(source):
    """The surface of every box, by the first word of its label."""
    return {
        re.search(r"<b>[^\w]*(\w+)", label)[1]: re.search(r'bgcolor="(#\w+)"', label)[1]
        for label in re.findall(r"n\d+ \[label=<(.*)>\]", source)
    }


AMBER = [LIGHT[f"memory{level}"] for level in range(1, 5)]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=5))
def test_a_stronger_surface_means_more_bytes(sizes):
    v = torch.ones(1, requires_grad=True)
    operations = (torch.exp, torch.tanh, torch.sigmoid, torch.sqrt, torch.rsqrt)  # each saves its result
    out = sum(operation(v.expand(size)).sum() for operation, size in zip(operations, sizes, strict=False))
    found = surfaces(draw_graph(out, theme="light").source)
    for operation, size in zip(operations, sizes, strict=False):
        level = AMBER.index(found[f"{operation.__name__.capitalize()}Backward0"]) + 1
        assert max(sizes) * (level - 1) < 4 * size <= max(sizes) * level


def test_the_legend_explains_every_color_in_use_and_no_other(product):
    plain = draw_graph(product[2], theme="light").source
    assert LIGHT["custom_line"] not in plain and not any(color in plain for color in AMBER)
    for words in ("backward begins here", "leaf", "keeps nothing of its own"):
        assert f" {words} " in plain
    v = torch.randn(1024, requires_grad=True)
    rich = draw_graph(Keeper.apply(v.exp(), 2) + v[:256].exp().sum(), theme="light").source
    for words in ("custom Function", "keeps up to 2 KiB", "keeps up to 8 KiB"):
        assert f" {words} " in rich
    assert "saved up to" not in plain
    assert " keeps no tensor " in draw_graph((v + 1).sum()).source


def test_a_custom_function_has_its_outline_and_the_surface_of_its_bytes():
    v = torch.randn(4, requires_grad=True)
    assert surfaces(draw_graph(Keeper.apply(v, 3).sum(), theme="light").source)["KeeperBackward"] == AMBER[-1]


def test_without_a_caption_there_is_no_legend(product):
    assert "backward begins here" not in draw_graph(product[2], caption=False).source


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "mul", "exp", "data"]), st.integers(0, 50), st.integers(0, 50)), max_size=30
    )
)
def test_every_node_has_one_box_and_every_edge_one_arrow(steps):
    made = [torch.ones(2, requires_grad=True), torch.full((2,), 0.5, requires_grad=True)]
    for kind, i, j in steps:
        a, b = made[i % len(made)], made[j % len(made)]
        if kind == "add":
            made.append(a + b)
        elif kind == "mul":
            made.append(a * b)
        else:
            made.append(a.exp() if kind == "exp" else a * torch.ones(2))
    root = made[-1].sum().grad_fn
    nodes, waiting, edges = {root}, [root], 0
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None:
                edges += 1
                if node not in nodes:
                    nodes.add(node)
                    waiting.append(node)
    graph = shown(root, fold=False)
    assert (len(graph.labels), len(graph.edges)) == (len(nodes), edges)


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_it_renders_in_every_theme(product, theme):
    svg = draw_graph(product[2], theme=theme)._repr_mimebundle_()["image/svg+xml"]
    assert "MulBackward0" in svg
    assert (DARK["page"] in svg) == (theme != "light")
    assert ("prefers-color-scheme" in svg) == (theme == "auto")


def test_names_are_escaped():
    v = torch.ones(2, requires_grad=True)
    source = draw_graph(v * 2, names={"<&>": v}).source
    assert "&lt;&amp;&gt;" in source
    assert "<&>" in " ".join(read_dot(source).labels.values())


def test_without_dot_the_drawing_is_a_sentence_and_its_text(product, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(dot_command, "DOT_BINARY", Path("dot"))
    bundle = draw_graph(product[2])._repr_mimebundle_()
    assert set(bundle) == {"text/plain"}
    assert bundle["text/plain"].startswith("No `dot` program was found")
    assert "digraph" in bundle["text/plain"]


def test_palettes_have_the_same_roles_and_no_color_twice():
    assert LIGHT.keys() == DARK.keys()
    for palette in (LIGHT, DARK):
        assert len(set(palette.values())) == len(palette)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (12, "12 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (65536, "64 KiB"),
        (2_686_976, "2.56 MiB"),
        (1 << 40, "1 TiB"),
        (1025, "1 KiB"),
    ],
)
def test_bytes_for_people(nbytes, text):
    assert bytes_text(nbytes) == text
