"""Autograded notebooks: valid, without secrets, and harmless in a browser."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.filters import markdown2html

from autograder.grading.book.autograded import autograded_notebook, encode, released_cells, unreadable_notebook
from autograder.grading.book.harmless import harmless_markdown, harmless_outputs
from autograder.grading.results import Note
from tests.reporting import sample_class as sample

GRAPH = sample.chapters()[0]


def made(student: str, cells=None, outputs=None) -> dict:
    result = sample.result(student, "01-graph")
    cells = sample.submission_cells(student, GRAPH) if cells is None else cells
    return json.loads(encode(autograded_notebook(cells, GRAPH, result, outputs)))


def cell_of(notebook: dict, grade_id: str) -> dict:
    found = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id]
    assert len(found) == 1
    return found[0]


def test_answers_and_outputs_as_run_checks_as_released():
    stream = {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]}
    notebook = made("bea", outputs={"walk": [stream], "check-walk": [stream], "own": [stream]})
    nbformat.validate(notebook)
    assert "# bea" in cell_of(notebook, "walk")["source"]
    assert cell_of(notebook, "walk")["outputs"] == [stream | {"text": "one\ntwo\n"}]
    check = cell_of(notebook, "check-walk")
    assert check["source"] == GRAPH.by_id["check-walk"].released
    (table,) = check["outputs"]  # not what was run
    assert "3 of 4 checks, 2.25 of 3 points" in table["data"]["text/plain"]
    assert "You visited the leaf once." in table["data"]["text/plain"]
    assert "one entry per path" in table["data"]["text/html"]
    assert notebook["cells"][-1]["outputs"]
    assert "secret_of" not in json.dumps(notebook)


def test_what_a_student_did_to_locked_cells_is_not_shown():
    cells = sample.submission_cells("ada", GRAPH)
    for cell in cells:
        mark = cell["metadata"].get("nbgrader", {})
        if mark.get("locked"):
            cell["source"] = "### BEGIN HIDDEN TESTS"
            mark["points"] = 1000
    notebook = made("ada", cells)
    assert "HIDDEN" not in json.dumps(notebook)
    assert cell_of(notebook, "check-walk")["metadata"]["nbgrader"]["points"] == 3.0


def test_a_doubled_answer_is_marked_once_and_ids_differ():
    cells = sample.submission_cells("ada", GRAPH)
    notebook = made("ada", [*cells, *cells])
    nbformat.validate(notebook)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    cell_of(notebook, "walk")


def test_notes_stand_first_and_are_text():
    result = sample.result("goran", "01-graph")
    result.notes.append(Note("x", f"{sample.LIVE}\n\n# not a heading"))
    first = autograded_notebook([], GRAPH, result)["cells"][0]
    assert "<img" not in first["source"] and "&lt;img" in first["source"] and "\n" not in first["source"]


def test_the_course_s_own_prose_keeps_its_html():
    _, release = sample.notebooks("01-graph")
    assert made("ada", released_cells(GRAPH))["cells"][0]["source"] == release["cells"][0]["source"]


def test_an_unreadable_submission_shows_the_release_and_why():
    notebook = unreadable_notebook(GRAPH, sample.result("ilse", "01-graph"))
    nbformat.validate(notebook)
    assert "web page" in notebook["cells"][0]["source"]
    assert len(notebook["cells"]) == len(GRAPH.cells) + 1
    assert "secret_of" not in json.dumps(notebook)


ODD_CELLS = [
    {"cell_type": "code", "source": ["a = 1\n", "b"], "metadata": {"tags": "x", "nbgrader": "y"}, "id": "a b"},
    {"cell_type": "heading", "source": "x", "metadata": None, "id": ""},
    {"cell_type": "markdown", "source": "\ud800", "metadata": {}, "id": "x" * 99},
    {"cell_type": "markdown", "source": "", "metadata": {"nbgrader": {"grade_id": 7}}},
]


def test_odd_cells_become_valid_ones():
    notebook = made("ada", ODD_CELLS)
    nbformat.validate(notebook)
    assert len(notebook["cells"]) == 4


# ---------------------------------------------------------------- nothing runs


class _Live(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag in {"script", "iframe", "object", "embed", "style", "form", "base", "meta", "link", "svg", "math"}:
            self.found.append(tag)
        for name, value in attrs:
            url = "".join(c for c in value or "" if c > " ").lower()  # as browsers read it
            if name.startswith("on") or url.startswith(("javascript:", "vbscript:", "data:text")):
                self.found.append(f"{tag} {name}")


def live(html: str) -> list[str]:
    parser = _Live()
    parser.feed(html)
    return parser.found


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "text <svg/onload=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt :alert(1))",
    "[click](java\tscript:alert(1))",
    '![x](x" onerror="alert(1))',
    "<a href='javascript:alert(1)'>x</a>",
    "<javascript:alert(1)>",
    "[a]: javascript:alert(1)\n\n[a]",
    "[a](&#106;avascript:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](javascript&colon;alert(1))",
    "[a]:\n  &#x6a;avascript:alert(1)\n\n[a] [b][a]",
    "[[a](https://x)](javascript:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "<details ontoggle=alert(1) open>",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "$\\text{<img src=x onerror=alert(1)>}$",
    "<!-- --><script>alert(1)</script>",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_known_attacks_are_only_text(attack):
    assert live(markdown2html(harmless_markdown(attack))) == []


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([*ATTACKS, "\n", "*", "`", "<", ">", "(", ")", "[", "]", "!", "|", "a", "\\", "&lt;"]),
        max_size=8,
    )
)
def test_no_mixture_runs(parts):
    assert live(markdown2html(harmless_markdown("".join(parts)))) == []


def test_markdown_reads_the_same():
    text = "a < b, `x<y`, 3<4 and\n\n```\nif a<b: pass\n```\n[docs](https://pytorch.org) a: b"
    assert harmless_markdown(text).replace("\u200b", "") == text
    assert "https://pytorch.org" in harmless_markdown(text)


def test_outputs_are_reduced_to_text_and_pictures():
    rich = {
        "text/plain": "<T>",
        "text/html": "<script>alert(1)</script>",
        "text/latex": "$x$",
        "text/markdown": "<script>",
        "application/javascript": "alert(1)",
        "image/png": "iVBORw0KGgo=\n",
        "image/jpeg": '"><script>alert(1)</script>',
        "image/svg+xml": ["<svg onload='alert(1)'>", "</svg>"],
    }
    shown = harmless_outputs(
        [
            {"output_type": "execute_result", "data": rich, "metadata": {"x": 1}, "execution_count": 3},
            {"output_type": "display_data", "data": {"text/html": "<b>"}, "metadata": {}},
            {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mline"]},
            {"output_type": "stream", "name": "odd", "text": "x"},
            {"output_type": "update_display_data", "data": {}},
            {},
        ]
    )
    assert [output["output_type"] for output in shown] == ["display_data", "error", "stream"]
    assert set(shown[0]["data"]) == {"text/plain", "image/png", "text/html"}
    assert live(shown[0]["data"]["text/html"]) == []
    assert shown[0]["data"]["text/html"].startswith('<img alt="drawing" src="data:image/svg+xml;base64,')
    nbformat.validate(made("ada", outputs={"walk": shown}))
