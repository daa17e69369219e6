"""One table says what a file is instead of a notebook, and all who ask agree."""

import pytest

from autograder.grading.intake.attempts import was_meant
from autograder.grading.reading.kinds import KINDS, kind_of_bytes, kind_of_name, no_notebook


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.words)
def test_every_kind_is_known_by_each_of_its_marks(kind):
    assert {kind_of_name(f"My work.v2{ending.upper()}") for ending in kind.endings} <= {kind}
    assert {kind_of_bytes(beginning + b" and more") for beginning in kind.beginnings} <= {kind}
    assert kind.endings or kind.beginnings or kind.words == "a tar archive"


def test_no_mark_stands_for_two_kinds():
    for marks in ([e for k in KINDS for e in k.endings], [b for k in KINDS for b in k.beginnings]):
        assert len(marks) == len(set(marks))


@pytest.mark.parametrize(
    ("name", "sentence", "meant"),
    [
        ("essay.PDF", "essay.PDF is a PDF, not a notebook; the .ipynb file is needed.", False),
        ("01-graph.py", "01-graph.py is a Python script, not a notebook; the .ipynb file is needed.", True),
        ("work.tar.gz", "work.tar.gz is a gzip archive, not a notebook; the .ipynb file is needed.", True),
        ("data.xyz", "data.xyz is not a notebook; the .ipynb file is needed.", False),
        ("README", "README is not a notebook; the .ipynb file is needed.", False),
    ],
)
def test_what_is_said_of_a_name(name, sentence, meant):
    assert (no_notebook(name), was_meant(name)) == (sentence, meant)


def test_a_tar_archive_is_known_by_its_header():
    assert kind_of_bytes(b"\0" * 257 + b"ustar").words == "a tar archive"
