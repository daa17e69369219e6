"""`collect`'s rows: every file has one, documents are not lost, and the table says in few words what there is to do."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from autograder.cli.terminal import print_collected
from autograder.grading.intake import collecting
from autograder.grading.intake.collecting import collect
from autograder.grading.intake.handins import find
from tests.grading.corpus import zipped
from tests.grading.intake.test_collect import CHAPTERS, OTHER, mine, put, tree
from tests.grading.small_chapter import NAME

EMMY = "Emmy Noether_1005_assignsubmission_file_"


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_a_student_without_a_notebook_is_not_lost(tmp_path, packed):
    files = {f"{EMMY}/essay.docx": b"PK", f"Jo Li_1006_assignsubmission_file_/{NAME}.ipynb": mine(), "README.md": b"x"}
    source = put(tmp_path, {"in.zip": zipped(files)}) / "in.zip" if packed else put(tmp_path / "in", files)
    rows = {row.student: row for row in collect(source, tmp_path / "out", CHAPTERS)}
    assert set(rows) == {"Emmy-Noether", "Jo-Li", None}
    assert rows[None].source == "README.md" and rows[None].target is None
    emmy = rows["Emmy-Noether"]
    assert emmy.why == "essay.docx is a Word document, not a notebook; the .ipynb file is needed."
    assert emmy.target == "Emmy-Noether/essay.docx" and not emmy.settled and rows["Jo-Li"].settled
    assert (tmp_path / "out/Emmy-Noether/essay.docx").read_bytes() == b"PK"
    found = {handin.student: handin for handin in find(tmp_path / "out", {NAME: CHAPTERS[NAME]})}
    assert found["Emmy-Noether"].status == "missing" and "essay.docx" in found["Emmy-Noether"].notes[0].text


def test_what_is_carried_over_without_a_notebook_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_UNUSABLE_BYTES", 1 << 20)
    monkeypatch.setattr(collecting, "MAX_COMPANIONS", 3)
    put(tmp_path / "in", {"anna/a.pdf": bytes(1 << 20), "anna/b.pdf": b"more", "ben/big.pdf": bytes(2 << 20)})
    put(tmp_path / "in", {f"chen/{number}.png": b"" for number in range(6)})
    rows = collect(tmp_path / "in", tmp_path / "out", CHAPTERS)
    assert sorted(tree(tmp_path / "out")) == ["anna/a.pdf", "chen/0.png", "chen/1.png", "chen/2.png"]
    whys = {row.source: row.why for row in rows if row.target is None}
    assert set(whys) == {"anna/b.pdf", "ben/big.pdf", "chen/3.png"}
    assert "exceed 1 MB" in whys["ben/big.pdf"] and "(3)" in whys["chen/3.png"]
    assert {handin.student for handin in find(tmp_path / "out", CHAPTERS)} == {"anna", "ben", "chen"}


def grades(tmp_path):
    """What `grade` will say, by student and chapter: status and the first note."""
    return {
        (handin.student, handin.chapter): (handin.status, handin.notes[0].text if handin.notes else "")
        for handin in find(tmp_path / "out", CHAPTERS)
    }


def only(name, chapter):
    return f"No notebook was handed in for {chapter}, only {name}; the .ipynb file is needed."


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_a_lone_document_in_a_flat_class_folder(tmp_path, packed):
    files = {
        "anna.ipynb": mine("anna"),
        "ben_01-small.ipynb": mine("ben"),
        "chen.pdf": b"%PDF",
        f"dora_{OTHER}.docx": b"PK",
        "README.md": b"x",
        "logo.png": b"x",
    }
    source = put(tmp_path, {"in.zip": zipped(files)}) / "in.zip" if packed else put(tmp_path / "in", files)
    rows = {row.source.rpartition("/")[2]: row for row in collect(source, tmp_path / "out", CHAPTERS)}
    assert set(rows) == set(files)
    assert (rows["chen.pdf"].student, rows["chen.pdf"].target) == ("chen", "chen/chen.pdf")
    assert rows["chen.pdf"].why == "chen.pdf is a PDF, not a notebook; the .ipynb file is needed."
    assert rows[f"dora_{OTHER}.docx"].target == f"dora/{OTHER}/dora_{OTHER}.docx"
    for name in ("README.md", "logo.png"):
        assert rows[name].student is rows[name].target is None and "whose it is" in rows[name].why
    said = grades(tmp_path)
    assert {student for student, _ in said} == {"anna", "ben", "chen", "dora"}
    assert said["chen", NAME] == ("missing", only("chen.pdf", NAME))
    assert said["dora", OTHER] == ("missing", only(f"dora_{OTHER}.docx", OTHER))
    assert said["anna", NAME][0] == said["ben", NAME][0] == "found"


DOCUMENTS = {
    "folders": (f"anna/{NAME}/{NAME}.ipynb", f"anna/{OTHER}/essay.docx"),
    "chapter first": (f"{NAME}/anna.ipynb", f"{OTHER}/anna.docx"),
    "flat": (f"anna_{NAME}.ipynb", f"anna_{OTHER}.docx"),
    "one folder": (f"anna/{NAME}.ipynb", f"anna/{OTHER}.docx"),
    "Moodle": (f"anna_77_assignsubmission_file_/{NAME}.ipynb", f"anna_77_assignsubmission_file_/{OTHER}/essay.docx"),
    "inbound": (f"anna+{NAME}+2026-02-03 15:58:23 UTC/{NAME}.ipynb", f"anna+{OTHER}+2026-02-03 15:58:23 UTC/x.docx"),
}


@pytest.mark.parametrize("shape", DOCUMENTS)
def test_a_document_for_a_chapter_beside_a_notebook_for_another(tmp_path, shape):
    notebook, document = DOCUMENTS[shape]
    put(tmp_path / "in", {notebook: mine(), document: b"PK", notebook.replace("anna", "ben"): mine("ben")})
    rows = {row.source: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    name = document.rpartition("/")[2]
    assert rows[notebook].target == f"anna/{NAME}/{NAME}.ipynb"
    assert (rows[document].student, rows[document].chapter) == ("anna", OTHER)
    assert rows[document].target == f"anna/{OTHER}/{name}" and not rows[document].settled
    assert f"{name} is a Word document, not a notebook" in rows[document].why
    said = grades(tmp_path)
    assert said["anna", NAME][0] == said["ben", NAME][0] == "found"
    assert said["anna", OTHER] == ("missing", only(name, OTHER))
    assert said["ben", OTHER] == ("missing", "Nothing was handed in.")


PIECES = st.sampled_from(["anna", "ben", NAME, OTHER, "data", "chen_9_assignsubmission_file_", "week 1"])
ENDINGS = st.sampled_from([".ipynb", ".pdf", ".docx", ".py", ".csv", ".md", ".rar", ""])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(PIECES, max_size=3), PIECES, ENDINGS), min_size=1, max_size=12), st.booleans())
def test_every_file_has_one_row_and_lies_where_it_says(tmp_path_factory, paths, packed):
    files = {}
    for folders, name, ending in paths:
        path = "/".join([*folders, name + (ending or ".x")])
        files[path] = mine(path) if ending == ".ipynb" else path.encode()
    root = tmp_path_factory.mktemp("rows")
    source = put(root, {"in.zip": zipped(files)}) / "in.zip" if packed else put(root / "in", files)
    (root / "out").mkdir()
    rows = collect(source, root / "out", CHAPTERS)
    assert sorted(row.source for row in rows) == sorted(files)
    for row in rows:
        assert row.why.endswith(".")
        if row.target is not None:
            assert (root / "out" / row.target).read_bytes() == files[row.source]
    # Whom the table names is known to `grade`, and a chapter without a notebook there is none here.
    statuses = {(handin.student, handin.chapter): handin.status for handin in find(root / "out", CHAPTERS)}
    assert {row.student for row in rows if row.target} == {student for student, _ in statuses}
    settled = {(row.student, row.chapter) for row in rows if row.settled}
    assert all(statuses[pair] == "found" for pair in settled)
    assert not {pair for pair, status in statuses.items() if status == "missing"} & settled


def test_a_single_moodle_folder_names_the_student(tmp_path):
    put(tmp_path / "in", {f"{EMMY}/{name}": b"x" for name in ("walk.py", "answers.pdf", "essay.docx")})
    rows = collect(tmp_path / "in", tmp_path / "out", CHAPTERS)
    assert {row.student for row in rows} == {"Emmy-Noether"}
    assert sorted(tree(tmp_path / "out")) == [f"Emmy-Noether/{n}" for n in ("answers.pdf", "essay.docx", "walk.py")]


def shown(tmp_path, files, **options):
    (tmp_path / "in").mkdir()
    console = Console(record=True, file=io.StringIO(), width=80, highlight=False, soft_wrap=True, **options)
    rows = collect(put(tmp_path / "in", files), tmp_path / "out", CHAPTERS)
    print_collected(console, tmp_path / "in", rows)
    return console.export_text().splitlines()


CLASS = {
    f"anna/{NAME}.ipynb": mine(),
    f"Wilhelmina van der Berg_1001_assignsubmission_file_/{NAME}.ipynb": mine(),
    "ben/x.ipynb": b"",
    "chen/essay.docx": b"x",
}
SUMMARY = "2 of 4 files sorted for 2 students; 1 names no chapter: ben/x.ipynb; 1 is no notebook: chen/essay.docx."


def test_the_table_fits_a_terminal_of_80_columns(tmp_path):
    lines = shown(tmp_path, CLASS, force_terminal=True)
    summary = next(place for place, line in enumerate(lines) if line.startswith("2 of 4"))
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split() == ["from", "student", "chapter", "why"]
    assert any(line.startswith("Wilhelmina v…") for line in lines)
    assert " ".join(map(str.strip, lines[summary:])) == SUMMARY
    words = set(" ".join(lines).split())
    assert {"essay.docx", "document,", "notebook;", "student"} <= words


def test_elsewhere_there_is_one_line_per_file(tmp_path):
    lines = shown(tmp_path, CLASS, force_terminal=False)
    assert len(lines) == 1 + len(CLASS) + 1
    assert all(any(line.startswith(f"{source} ") for line in lines) for source in CLASS)
    assert lines[-1] == SUMMARY
