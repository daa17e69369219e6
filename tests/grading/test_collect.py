"""`collect`: whatever the platform sends becomes nbgrader's folders, and the source stays as it was."""

import hashlib
import io
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from autograder.grading import collecting
from autograder.grading.collecting import CollectError, collect
from autograder.grading.intake import find
from autograder.grading.recognize import chapter_in_name, without_chapter
from autograder.terminal import print_collected
from tests.grading.corpus import blank, encode, zipped
from tests.grading.small_chapter import NAME, another_chapter, answered_notebook, other_chapter, small_chapter

OTHER = "02-other"
CHAPTERS = {NAME: small_chapter(), OTHER: other_chapter()}


def mine(student="", name=NAME):
    """A notebook that differs from student to student."""
    notebook = answered_notebook() if name == NAME else another_chapter()
    notebook["cells"][0]["source"] += f"\n\n{student}"
    return encode(notebook)


def put(root, files):
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def tree(root):
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }


SHAPES = {
    "nbgrader's folders": lambda s: f"{s}/{NAME}/{NAME}.ipynb",
    "a folder per student, any name": lambda s: f"{s}/homework final.ipynb",
    "chapter first": lambda s: f"{NAME}/{s}/solution.ipynb",
    "chapter folder, flat": lambda s: f"{NAME}/{s}.ipynb",
    "flat, chapter behind": lambda s: f"{s}_{NAME}.ipynb",
    "flat, chapter before": lambda s: f"{NAME} - {s} (1).ipynb",
    "flat, student alone": lambda s: f"{s}.ipynb",
    "flat, homework by number": lambda s: f"hw1_{s}.ipynb",
    "wrapped once more": lambda s: f"submissions/{s}/{NAME}.ipynb",
    "Moodle, with folders": lambda s: f"{s}_{4000 + len(s)}_assignsubmission_file_/{NAME}.ipynb",
    "Moodle, without folders": lambda s: f"{s}_{4000 + len(s)}_assignsubmission_file_{NAME}.ipynb",
    "Canvas": lambda s: f"{s}_1{len(s)}_998{len(s)}_{NAME}-1.ipynb",
    "Canvas, late": lambda s: f"{s}_LATE_1{len(s)}_998{len(s)}_{NAME}.ipynb",
    "nbgrader's inbound": lambda s: f"{s}+{NAME}+2026-02-03 15:58:23.948203 UTC+x1/{NAME}.ipynb",
}


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_becomes_nbgraders(tmp_path, shape, packed):
    files = {SHAPES[shape](student): mine(student) for student in ("anna", "björk", "chen")}
    source, target = tmp_path / "in", tmp_path / "out"
    if packed:
        source = put(tmp_path, {"in.zip": zipped(files)}) / "in.zip"
    else:
        put(source, files)
    rows = collect(source, target, CHAPTERS)
    assert {(row.student, row.chapter, row.target) for row in rows} == {
        (student, NAME, f"{student}/{NAME}/{NAME}.ipynb") for student in ("anna", "björk", "chen")
    }
    for student in ("anna", "björk", "chen"):
        assert (target / student / NAME / f"{NAME}.ipynb").read_bytes() == mine(student)
    found = [handin for handin in find(target, CHAPTERS) if handin.chapter == NAME]
    assert [handin.status for handin in found] == ["found"] * 3
    assert all(handin.timestamp is not None for handin in found) == (shape == "nbgrader's inbound")


def test_the_source_is_never_changed_and_a_second_run_adds_nothing(tmp_path):
    source = put(tmp_path / "in", {f"anna/{NAME}.ipynb": mine("a"), "ben.zip": zipped({f"{NAME}.ipynb": mine("b")})})
    before = tree(source)
    collect(source, tmp_path / "out", CHAPTERS)
    once = tree(tmp_path / "out")
    again = collect(source, tmp_path / "out", CHAPTERS)
    assert tree(source) == before
    assert tree(tmp_path / "out") == once and len(once) == 2
    assert {row.why for row in again} == {"It is there already."}


def test_a_later_attempt_is_put_beside_the_first(tmp_path):
    put(tmp_path / "one", {f"anna/{NAME}.ipynb": mine("first")})
    put(tmp_path / "two", {f"anna/{NAME}.ipynb": mine("second")})
    os.utime(tmp_path / f"one/anna/{NAME}.ipynb", (1e9, 1e9))
    collect(tmp_path / "one", tmp_path / "out", CHAPTERS)
    (row,) = collect(tmp_path / "two", tmp_path / "out", CHAPTERS)
    assert row.target == f"anna/{NAME}/{NAME} (2).ipynb"
    assert (tmp_path / f"out/anna/{NAME}/{NAME}.ipynb").read_bytes() == mine("first")
    handin = next(found for found in find(tmp_path / "out", CHAPTERS) if found.chapter == NAME)
    assert handin.data == mine("second") and handin.attempt == 2


def test_of_several_attempts_the_newest_with_answers_is_copied(tmp_path):
    source = put(tmp_path / "in", {"anna/a.ipynb": mine("old"), "anna/b.ipynb": mine("new"), "anna/c.ipynb": blank()})
    put(source, {f"ben/{NAME}.ipynb": mine()})
    for age, name in enumerate(("c", "b", "a")):
        os.utime(source / f"anna/{name}.ipynb", (1e9 - age, 1e9 - age))
    rows = collect(source, tmp_path / "out", CHAPTERS)
    assert [row.source for row in rows if row.target] == ["anna/b.ipynb", f"ben/{NAME}.ipynb"]
    assert len(rows) == 4


def test_several_chapters_in_one_zip(tmp_path):
    both = zipped({f"{NAME}.ipynb": mine(), "second.ipynb": mine("", OTHER)})
    put(tmp_path / "in", {"anna.zip": both, "ben.zip": zipped({f"{NAME}.ipynb": mine()})})
    rows = collect(tmp_path / "in", tmp_path / "out", CHAPTERS)
    assert {(row.student, row.chapter) for row in rows} == {("anna", NAME), ("anna", OTHER), ("ben", NAME)}


def test_two_people_of_one_name_stay_apart(tmp_path):
    files = {f"Jo Li_{n}_assignsubmission_file_/{NAME}.ipynb": mine(str(n)) for n in (11, 22)}
    rows = collect(put(tmp_path / "in", files), tmp_path / "out", CHAPTERS)
    assert {row.student for row in rows} == {"Jo-Li-11", "Jo-Li-22"}
    assert all(row.target for row in rows)


def test_files_beside_a_notebook_come_along(tmp_path):
    files = {"mine.py": b"x = 1", "data/my table.csv": b"1,2", f"{OTHER}/essay.pdf": b"%PDF"}
    put(tmp_path / "in/anna", {f"{NAME}.ipynb": mine(), **files})
    put(tmp_path / "in/ben", {f"{NAME}.ipynb": mine(), "mine.py": b"x = 2"})
    rows = {row.source: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    assert (tmp_path / f"out/anna/{NAME}/mine.py").read_bytes() == b"x = 1"
    assert (tmp_path / f"out/ben/{NAME}/mine.py").read_bytes() == b"x = 2"
    assert (tmp_path / f"out/anna/{NAME}/data/my table.csv").read_bytes() == b"1,2"
    assert rows["anna/mine.py"].target == f"anna/{NAME}/mine.py"
    assert {row.source for row in rows.values() if not row.settled} == {f"anna/{OTHER}/essay.pdf"}
    assert all(row.why == "It lies with the notebook." for row in rows.values() if row.along)


def test_more_files_than_a_notebook_needs_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_COMPANIONS", 3)
    put(tmp_path / "in/anna", {f"{NAME}.ipynb": mine(), **{f"{number}.csv": b"" for number in range(9)}})
    put(tmp_path / "in/ben", {f"{NAME}.ipynb": mine()})
    rows = {row.source: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    assert sum(row.settled for row in rows.values()) == 5 and len(rows) == 6
    assert rows["anna/3.csv"].target is None and "(6)" in rows["anna/3.csv"].why


def test_names_lead_nowhere_else(tmp_path):
    files = {f"../../evil_{NAME}.ipynb": mine(), f"/abs_{NAME}.ipynb": mine(), f"ok_{NAME}.ipynb": mine()}
    put(tmp_path, {"deep/in.zip": zipped(files)})
    rows = collect(tmp_path / "deep/in.zip", tmp_path / "deep/out", CHAPTERS)
    assert [row.student for row in rows if row.target] == ["ok"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep"]
    assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == ["in.zip", "out"]


def test_links_are_not_followed(tmp_path):
    put(tmp_path / "in", {f"anna/{NAME}.ipynb": mine()})
    (tmp_path / "secret.ipynb").write_bytes(mine("secret"))
    (tmp_path / "in/ben").mkdir()
    (tmp_path / f"in/ben/{NAME}.ipynb").symlink_to(tmp_path / "secret.ipynb")
    (tmp_path / "in/chen").symlink_to(tmp_path)
    rows = collect(tmp_path / "in", tmp_path / "out", CHAPTERS)
    assert [row.student for row in rows if row.target] == ["anna"]
    assert any("link" in row.why for row in rows)


def test_what_cannot_be_placed_says_why(tmp_path):
    put(
        tmp_path / "in",
        {f"{NAME}.ipynb": mine(), "anna/x.ipynb": b"", "anna/notes.pdf": b"%PDF", "ben/work.rar": b"Rar!"},
    )
    rows = {row.source: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    assert rows[f"{NAME}.ipynb"].target is None and "student" in rows[f"{NAME}.ipynb"].why
    assert rows["anna/x.ipynb"].target == "anna/x.ipynb"
    assert rows["ben/work.rar"].target == "ben/work.rar"
    assert rows["anna/notes.pdf"].target is None and "there is a notebook" in rows["anna/notes.pdf"].why
    statuses = {(found.student, found.status) for found in find(tmp_path / "out", {NAME: CHAPTERS[NAME]})}
    assert statuses == {("anna", "unreadable"), ("ben", "unreadable")}


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
    assert said["chen", NAME] == ("missing", "No notebook was handed in, only chen.pdf.")
    assert said["dora", OTHER] == ("missing", f"No notebook was handed in, only dora_{OTHER}.docx.")
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
    assert said["anna", OTHER] == ("missing", f"No notebook was handed in, only {name}.")
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


def test_an_empty_folder_is_said_to_be_empty(tmp_path):
    console = Console(record=True, file=io.StringIO(), width=80, soft_wrap=True)
    print_collected(console, tmp_path, collect(tmp_path, tmp_path / "out", CHAPTERS))
    assert console.export_text() == f"{tmp_path} holds no notebook and no archive.\n"


def test_the_target_inside_the_source_is_not_collected_again(tmp_path):
    put(tmp_path, {f"anna/{NAME}.ipynb": mine(), f"ben/{NAME}.ipynb": mine()})
    for _ in range(2):
        rows = collect(tmp_path, tmp_path / "submitted", CHAPTERS)
        assert {row.student for row in rows} == {"anna", "ben"}


@pytest.mark.parametrize("name", ["nothing", "file.txt"])
def test_a_source_that_is_none(tmp_path, name):
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(CollectError, match=name):
        collect(tmp_path / name, tmp_path / "out", CHAPTERS)


NAMES = ["01-graph", "02-saved-tensors", "06-backward-engine"]


@pytest.mark.parametrize(
    ("text", "chapter", "rest"),
    [
        ("01-graph", "01-graph", ""),
        ("01_Graph (3)", "01-graph", ""),
        ("Copy of 01 graph", "01-graph", ""),
        ("01-graph - Copy", "01-graph", ""),
        ("01graph", "01-graph", ""),
        ("Jane Doe 02 saved tensors v2", "02-saved-tensors", "Jane Doe   v2"),
        ("week 6", "06-backward-engine", ""),
        ("hw06_jane", "06-backward-engine", "jane"),
        ("saved-tensors", "02-saved-tensors", ""),
        ("s01", None, "s01"),
        ("2026-01-06", None, "2026-01-06"),
        ("graph and saved tensors", "02-saved-tensors", "graph and"),
        ("jane", None, "jane"),
    ],
)
def test_chapters_are_read_from_names(text, chapter, rest):
    assert chapter_in_name(text, NAMES) == chapter
    assert without_chapter(text, NAMES) == rest
