"""DOT text read back: what graphviz writes, and what a person may write."""

import graphviz
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.lab.graph.dot_text import read_dot

NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\\\0\r\n:<>&;", exclude_categories=("Cs", "Cc")),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(NAMES, min_size=1, max_size=6, unique=True),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
)
def test_what_the_graphviz_package_writes_comes_back(names, pairs):
    drawing = graphviz.Digraph(node_attr={"shape": "box"}, graph_attr={"rankdir": "LR"})
    for number, name in enumerate(names):
        drawing.node(f"n{number}", name)
    edges = [(f"n{a % len(names)}", f"n{b % len(names)}") for a, b in pairs]
    drawing.edges(edges)
    graph = read_dot(drawing.source)
    assert graph.labels == {f"n{number}": name for number, name in enumerate(names)}
    assert graph.edges == edges
    assert graph.directed and not graph.strict


@settings(max_examples=60, deadline=None)
@given(NAMES, NAMES)
def test_names_of_nodes_come_back(one, other):
    drawing = graphviz.Digraph()
    drawing.edge(one, other)
    assert read_dot(drawing.source).edges == [(one, other)]


@pytest.mark.parametrize(
    ("text", "labels", "edges"),
    [
        ("digraph { a -> b -> c }", {"a": "a", "b": "b", "c": "c"}, [("a", "b"), ("b", "c")]),
        ('digraph G { a [label="x\\ny"]; a:p:n -> b [label=q, color=red] }', {"a": "x\ny", "b": "b"}, [("a", "b")]),
        ("digraph { node [label=same]; a; b [label=own] }", {"a": "same", "b": "own"}, []),
        ("digraph { a -> {b c} }", {"a": "a", "b": "b", "c": "c"}, [("a", "b"), ("a", "c")]),
        (
            "digraph { subgraph cluster_1 { label=box; a -> b } b -> c }",
            {"a": "a", "b": "b", "c": "c"},
            [("a", "b"), ("b", "c")],
        ),
        ("digraph { // a comment\n a [label=<<b>bold</b> &lt;3>] /* more */ }", {"a": " bold  <3"}, []),
        ("strict digraph { a -> b; a -> b; b -> a }", {"a": "a", "b": "b"}, [("a", "b"), ("b", "a")]),
        ("digraph { rankdir=LR; 1 -> -2.5 }", {"1": "1", "-2.5": "-2.5"}, [("1", "-2.5")]),
    ],
)
def test_what_a_person_may_write(text, labels, edges):
    graph = read_dot(text)
    assert (graph.labels, graph.edges) == (labels, edges)


def test_an_undirected_graph_says_so():
    assert not read_dot("graph { a -- b }").directed


@pytest.mark.parametrize(
    "text", ["", "a -> b", "digraph { a -> ", "digraph { a [label=<b }", "digraph a b {}", "digraph { @ }"]
)
def test_what_is_no_dot_is_refused(text):
    with pytest.raises(ValueError):
        read_dot(text)
