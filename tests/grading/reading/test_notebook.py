"""Bytes become a notebook, or one sentence that says what is needed instead."""

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.grading.reading.notebook import Reading, Unreadable, read_notebook
from autograder.grading.reading.slimming import drop_outputs
from tests.grading.corpus import encode
from tests.grading.small_chapter import answered_notebook, find_cell

WHOLE = answered_notebook()
SOURCES = [cell["source"] for cell in WHOLE["cells"]]


def test_a_notebook_is_its_cells_without_outputs():
    reading = read_notebook(encode(WHOLE))
    assert [cell["source"] for cell in reading.cells] == SOURCES
    assert [cell["id"] for cell in reading.cells] == [cell["id"] for cell in WHOLE["cells"]]
    assert all(cell.keys() == {"cell_type", "source", "metadata", "id"} for cell in reading.cells)
    assert reading.notes == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_encodings(encoding):
    notebook = answered_notebook()
    find_cell(notebook, "double")["source"] += "\n# caf\u00e9"
    reading = read_notebook(json.dumps(notebook, ensure_ascii=False).encode(encoding))
    assert find_cell({"cells": reading.cells}, "double")["source"].endswith("# caf\u00e9")
    assert [note.code for note in reading.notes] == ([] if encoding.startswith("utf-8") else ["encoding"])


def test_metadata_is_reduced_to_what_grading_looks_at():
    notebook = answered_notebook()
    marks = {"grade_id": "double", "x": []}
    find_cell(notebook, "double")["metadata"] = {"tags": ["a", 3, "\ud800"], "huge": ["x"] * 9, "nbgrader": marks}
    cell = find_cell({"cells": read_notebook(encode(notebook)).cells}, "double")
    assert cell["metadata"] == {"nbgrader": {"grade_id": "double"}, "tags": ["a", "?"]}


def test_two_hundred_megabytes_of_outputs_never_become_objects():
    notebook = answered_notebook()
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "PICTURE"}}
    find_cell(notebook, "double")["outputs"] = [picture, {"output_type": "stream", "text": ["LINES"]}]
    text = json.dumps(notebook)
    lines = '", "'.join(['a \\"line\\" [of] text\\\\'] * 500_000)
    data = text.replace("PICTURE", "iVBORw0K" * 23_000_000).replace("LINES", lines).encode()
    assert len(data) > 190_000_000
    tracemalloc.start()
    reading = read_notebook(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [cell["source"] for cell in reading.cells] == SOURCES
    assert peak < 1.5 * len(data)  # the text once; parsed it would be more than twice as much


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\t ", "blanks"),
        (b"\0" * 99, "zeros"),
        (b"[]", "JSON list"),
        (b"[[[[", "cut off"),
        (b"{}", "no cells"),
        (b"3", "no notebook"),
        (b'"text"', "no notebook"),
        (b"null", "no notebook"),
        (b'{"cells": []}', "no cells"),
        (b'{"cells": {}}', "no cells"),
        (b'{"cells": [1, null]}', "no cells"),
        (b'{"worksheets": [3, {"cells": 4}]}', "no cells"),
        (b'{"nbformat": 5, "cells": [{}]}', "format 5"),
        (b'{"nbformat": "5.1", "cells": [{}]}', "format 5.1"),
        (b'{"nbformat": 6}', "format 6"),
        (b"<html></html>", "web page"),
        (b"\n <!DOCTYPE html>", "web page"),
        (b'<?xml version="1.0"?>', "web page"),
        (b'{\n<<<<<<< HEAD\n"cells": 1', "conflict"),
        (b'{"cells": [{"source": "x', "cut off"),
        (b'{"cells": [', "cut off"),
        (b'{"cells": [}, "metadata": 1}\n\n\n', "broken at line 1"),
        (b"# %%\nx = 1", "Python script"),
        (b"import torch\n", "Python script"),
        (b"hello there", "plain text"),
        (b"%PDF-1.4", "PDF"),
        (b"PK\x03\x04zip", "zip archive"),
        (b"Rar!\x1a", "RAR"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"x" * 257 + b"ustar", "tar"),
        (b"\x89PNG\r\n", "picture"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"n": ' + b"9" * 10_000 + b"}", "no notebook"),
        (b'{"cells": [' + b"{}," * 30_000 + b"{}]}", "30,001 cells"),
        (b'{"x": "' + b"y" * (65 << 20) + b'"}', "64 MB"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else value,
)
def test_what_is_no_notebook_is_one_sentence(data, words):
    with pytest.raises(Unreadable) as error:
        read_notebook(data)
    text = str(error.value)
    assert words in text and "\n" not in text and "needed" in text and text.endswith(".")
    assert len(text) < 250


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data):
    try:
        assert isinstance(read_notebook(data), Reading)
    except Unreadable as error:
        assert str(error)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=30), st.booleans())
def test_a_damaged_notebook_is_read_or_refused(place, junk, insert):
    data = encode(WHOLE)
    place %= len(data)
    try:
        reading = read_notebook(data[:place] + junk + data[place + (0 if insert else len(junk)) :])
    except Unreadable:
        return
    for cell in reading.cells:
        cell["source"].encode()
        json.dumps(cell, ensure_ascii=False).encode()


brackets = st.sampled_from(['"outputs": [', '\\"outputs\\": [', "]", "[", '"', "\\"])
texts = st.text(st.characters(codec="utf-8"), max_size=20) | brackets
outputs = st.recursive(
    texts | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(texts, st.lists(outputs, max_size=4)), max_size=5))
def test_dropping_outputs_drops_nothing_else(cells):
    notebook = {"cells": [{"source": source, "outputs": out, "metadata": {"after": source}} for source, out in cells]}
    for indent in (None, 1):
        slim = json.loads(drop_outputs(json.dumps(notebook, indent=indent, ensure_ascii=False)))
        assert slim == {"cells": [{**cell, "outputs": []} for cell in notebook["cells"]]}


@given(st.text(st.sampled_from('[]{}",:\\ outputs'), max_size=60))
def test_dropping_outputs_takes_any_text(text):
    drop_outputs('"outputs": [' + text)
