"""Recordings: what is written is read, what is missing is said, what is broken is refused."""

import json

import pytest
import torch

from autograder.lab import recordings
from autograder.lab.recordings import record, recorded, show_recording


def test_what_nobody_recorded_is_none_and_the_display_says_so():
    assert recorded("no-such-measurement") is None
    assert "Not recorded yet: no-such-measurement" in repr(show_recording("no-such-measurement"))
    assert "Not recorded yet" in show_recording("no-such-measurement")._repr_html_()


def test_a_recording_comes_back_with_its_source(tmp_path):
    made = record("05-modes", "Nanoseconds per call.", {"grad": 1234.5, "no_grad": 800}, folder=tmp_path)
    found = recorded("05-modes", folder=tmp_path)
    assert found == made
    assert found.versions["torch"] == torch.__version__
    text = repr(show_recording("05-modes", folder=tmp_path))
    for part in ("Nanoseconds per call.", "grad", "1,234", "800", made.date, made.device):
        assert part in text


def test_nested_figures_make_one_row_per_key(tmp_path):
    record("sweep", "Bytes.", {"plain": {"peak": 10, "saved": 5}, "full": {"peak": 7}}, folder=tmp_path)
    lines = repr(show_recording("sweep", folder=tmp_path)).splitlines()
    assert lines[1].split() == ["peak", "saved"]
    assert lines[2].split() == ["plain", "10", "5"]
    assert lines[3].split() == ["full", "7"]


def test_text_of_a_recording_is_escaped_for_html(tmp_path):
    record("odd", "<script>", {"<b>": [1, 2]}, folder=tmp_path)
    shown = show_recording("odd", folder=tmp_path)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;b&gt;" in shown


@pytest.mark.parametrize("name", ["", "../secret", "A", "a b", "a.json", "-a"])
def test_a_name_that_is_no_name_is_refused(name):
    with pytest.raises(ValueError, match="no name of a recording"):
        recorded(name)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"what": 1}', "not json"])
def test_a_broken_file_is_refused_in_one_sentence(tmp_path, text):
    (tmp_path / "broken.json").write_text(text)
    with pytest.raises(ValueError, match=r"broken\.json is not a recording"):
        recorded("broken", folder=tmp_path)


def test_a_figure_that_is_not_a_number_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError):
        record("nan", "x", {"a": float("nan")}, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_every_recording_in_the_package_can_be_read_and_shown():
    for path in recordings.FOLDER.glob("*.json"):
        found = recorded(path.stem)
        assert found is not None
        assert found.device and found.date and "torch" in found.versions
        assert found.source in repr(show_recording(path.stem))
        assert json.loads(path.read_text())["data"]
