"""Recordings: what is written is read, what is missing is said, what is broken is refused."""

import json

import pytest
import torch

from autograder.lab.machine import recordings
from autograder.lab.machine.recordings import record, recorded, show_recording


@pytest.fixture
def file(tmp_path):
    return tmp_path / "recordings.json"


def keep(file, name, what, data):
    record({name: (what, data)}, file=file)


def test_what_nobody_recorded_is_none_and_shows_nothing(file):
    assert recorded("no-such-measurement") is None
    assert show_recording("no-such-measurement") is None
    keep(file, "another", "x", {"a": 1})
    assert show_recording("no-such-measurement", file=file) is None


def test_a_recording_comes_back_with_its_source(file):
    keep(file, "05-modes", "Nanoseconds per call.", {"grad": 1234.5, "no_grad": 800})
    found = recorded("05-modes", file=file)
    assert found.data == {"grad": 1234.5, "no_grad": 800}
    assert found.versions["torch"] == torch.__version__
    text = repr(show_recording("05-modes", file=file))
    for part in ("Nanoseconds per call.", "grad", "1,234", "800", found.date, found.device):
        assert part in text


def test_one_run_makes_one_file_with_one_source(file):
    record({"a": ("A.", {"x": 1}), "b": ("B.", {"y": 2})}, file=file)
    assert recorded("a", file=file).source == recorded("b", file=file).source
    assert set(json.loads(file.read_text())) == {"device", "driver", "versions", "date", "measurements"}
    assert recorded("c", file=file) is None


def test_nested_figures_make_one_row_per_key(file):
    keep(file, "sweep", "Bytes.", {"plain": {"peak": 10, "saved": 5}, "full": {"peak": 7}})
    lines = repr(show_recording("sweep", file=file)).splitlines()
    assert lines[1].split() == ["peak", "saved"]
    assert lines[2].split() == ["plain", "10", "5"]
    assert lines[3].split() == ["full", "7"]


def test_the_figure_has_a_panel_per_column_of_numbers_and_a_bar_per_row(file):
    keep(file, "sweep", "Bytes.", {"plain": {"dtype": "float16", "peak": 10, "ms": 1.5}, "full": {"peak": 7}})
    figure = recorded("sweep", file=file).plot()
    assert [axes.get_title() for axes in figure.axes] == ["peak", "ms"]
    assert [[bar.get_width() for bar in axes.patches] for axes in figure.axes] == [[10, 7], [1.5, 0]]
    assert "data:image/svg+xml;base64," in show_recording("sweep", file=file)._repr_html_()


def test_columns_of_one_unit_share_their_scale(file):
    keep(file, "m", "x", {"add": {"grad, ns": 10, "no_grad, ns": 5, "calls": 3}, "mul": {"grad, ns": 20, "calls": 4}})
    ends = [axes.get_xlim()[1] for axes in recorded("m", file=file).plot().axes]
    assert ends[0] == ends[1] > 20 > ends[2] > 4


def test_without_numbers_there_is_no_figure(file):
    keep(file, "words", "In words.", {"backward runs in": "a thread of the engine"})
    assert recorded("words", file=file).plot() is None
    assert "<img" not in show_recording("words", file=file)._repr_html_()


def test_text_of_a_recording_is_escaped_for_html(file):
    keep(file, "odd", "<script>", {"<b>": [1, 2]})
    shown = show_recording("odd", file=file)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;b&gt;" in shown


@pytest.mark.parametrize("name", ["", "../secret", "A", "a b", "a.json", "-a"])
def test_a_name_that_is_no_name_is_refused(name, file):
    with pytest.raises(ValueError, match="no name of a recording"):
        recorded(name)
    with pytest.raises(ValueError, match="no name of a recording"):
        keep(file, name, "x", {})
    assert not file.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"measurements": {"a": {"what": 1}}}', "not json", '{"device": "x", "driver": "", "versions": [], "date": "", "measurements": {"a": {"what": "", "data": {}}}}'])  # fmt: skip
def test_a_broken_file_is_refused_in_one_sentence(file, text):
    file.write_text(text)
    with pytest.raises(ValueError, match=r"recordings\.json does not hold recordings"):
        recorded("a", file=file)


def test_a_figure_that_is_not_a_number_is_refused_and_what_stood_there_stays(file):
    keep(file, "a", "x", {"a": 1})
    before = file.read_bytes()
    with pytest.raises(ValueError):
        keep(file, "nan", "x", {"a": float("nan")})
    assert file.read_bytes() == before


def test_every_recording_in_the_package_can_be_read_and_shown():
    names = json.loads(recordings.FILE.read_text())["measurements"] if recordings.FILE.exists() else ()
    for name in names:
        found = recorded(name)
        assert found.device and found.date and "torch" in found.versions and found.data
        assert found.source in repr(show_recording(name))
